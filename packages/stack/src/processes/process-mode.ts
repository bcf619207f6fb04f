import type { Environment } from '../environment.ts';
import { StartError } from '../start-error.ts';
import { PROCESS_MODES, type ProcessMode } from './process-table.ts';

/** The mode in `GATEWAY_PROCESSES`; `one` if it is not set. @throws StartError for another value */
export function processModeOf({ GATEWAY_PROCESSES: value }: Environment): ProcessMode {
  const mode = PROCESS_MODES.find((known) => known === (value || 'one'));
  if (mode === undefined)
    throw new StartError(
      "GATEWAY_PROCESSES must be 'one' (the edge, the services and admin in one process, the workers in a second) or 'each' (a process for each).",
    );
  return mode;
}
