import type { StreamEvent } from '../conversation/stream-event.ts';
import type { Undo } from '../conversation/target.ts';
import { chain, type StreamStep } from '../wire/step.ts';
import { RestoreCallsStep } from './restore-calls.ts';
import { StopSequenceStep } from './stop-sequences.ts';

export interface UndoSteps {
  /** Null where the request was changed in nothing that shows. */
  readonly step: StreamStep<StreamEvent, StreamEvent> | null;
  /** Present where the gateway watches for stop sequences. */
  readonly stops: StopSequenceStep | null;
}

/** What brings an answer back to what the caller asked for. */
export function undoSteps(undo: Undo): UndoSteps {
  const restores = undo.tools.size > 0 || undo.answerTool !== null;
  const restore = restores ? new RestoreCallsStep(undo) : null;
  const stops = undo.stopSequences.length > 0 ? new StopSequenceStep(undo.stopSequences) : null;
  return { step: restore && stops ? chain(restore, stops) : (restore ?? stops), stops };
}
