import type { Environment } from '@gateway/contracts/environment';
import { StartError } from '../start-error.ts';
import type { PortSetting } from './ports.ts';

/** When a process starts, relative to the others: the edge gets the services' addresses; the simulator's is known before it runs. */
export type Stage = 'upstream' | 'service' | 'edge';

export interface ProcessRow {
  readonly name: string;
  /** From the root of the repository. */
  readonly entry: string;
  readonly stage: Stage;
  /** Null for a worker: it listens nowhere. */
  readonly port: PortSetting | null;
  /** Further ports of its own. Replicas after the first get free ones. */
  readonly furtherPorts?: readonly PortSetting[];
  /** The variable by which other processes find it. */
  readonly urlVariable: string | null;
  /** Secrets besides `GATEWAY_SECRET`, which all share. No other process gets them. */
  readonly secrets: readonly SecretVariable[];
  /** The names of the processes that this one replaces. */
  readonly parts?: readonly string[];
  /** Many requests pass through it: measured, embeddings take a third more processor time in a quiet process, which has 3 MB less. */
  readonly isBusy?: boolean;
  /** Started with the edge; no other process calls it. */
  readonly isInternal?: boolean;
}

/** `one`: a process for the edge, the services and admin, and one for the workers; `each`: a process for each of them. */
export const PROCESS_MODES = ['one', 'each'] as const;
export type ProcessMode = (typeof PROCESS_MODES)[number];

export const SECRET_VARIABLES = [
  'GATEWAY_BOOTSTRAP_KEY',
  'GATEWAY_ADMIN_TOKEN',
  'ADMIN_INSTANCE_KEY',
  'WEBHOOK_SECRET',
  'OIDC_CLIENT_SECRET',
  // Its password stands in it.
  'DATABASE_URL',
] as const;
type SecretVariable = (typeof SECRET_VARIABLES)[number];

export const EDGE_PORT = { variable: 'PORT', fallback: 8080 };
export const SIMULATOR_PORT = { variable: 'SIMULATOR_PORT', fallback: 8089 };
/** The edge's second port, for `/metrics`. */
export const EDGE_METRICS_PORT = { variable: 'EDGE_METRICS_PORT', fallback: 9080 };

export const ADMIN_PORT = { variable: 'ADMIN_PORT', fallback: 8090 };

const SIMULATOR = {
  name: 'simulator',
  entry: 'packages/simulator/src/main.ts',
  stage: 'upstream',
  port: SIMULATOR_PORT,
  urlVariable: 'SIMULATOR_URL',
  secrets: [],
} as const satisfies ProcessRow;

/** A process for each service and worker. */
const EACH = [
  SIMULATOR,
  {
    name: 'text',
    entry: 'apps/text/src/main.ts',
    stage: 'service',
    port: { variable: 'TEXT_PORT', fallback: 8081 },
    urlVariable: 'TEXT_URL',
    secrets: [],
    isBusy: true,
  },
  {
    name: 'text-worker',
    entry: 'apps/text/src/worker.ts',
    stage: 'service',
    port: null,
    urlVariable: null,
    secrets: ['WEBHOOK_SECRET'],
  },
  {
    name: 'image',
    entry: 'apps/image/src/main.ts',
    stage: 'service',
    port: { variable: 'IMAGE_PORT', fallback: 8082 },
    urlVariable: 'IMAGE_URL',
    secrets: [],
  },
  {
    name: 'image-worker',
    entry: 'apps/image/src/worker.ts',
    stage: 'service',
    port: null,
    urlVariable: null,
    secrets: ['WEBHOOK_SECRET'],
  },
  {
    name: 'audio',
    entry: 'apps/audio/src/main.ts',
    stage: 'service',
    port: { variable: 'AUDIO_PORT', fallback: 8083 },
    urlVariable: 'AUDIO_URL',
    secrets: [],
  },
  {
    name: 'audio-worker',
    entry: 'apps/audio/src/worker.ts',
    stage: 'service',
    port: null,
    urlVariable: null,
    secrets: ['WEBHOOK_SECRET'],
  },
  {
    name: 'retrieval',
    entry: 'apps/retrieval/src/main.ts',
    stage: 'service',
    port: { variable: 'RETRIEVAL_PORT', fallback: 8084 },
    urlVariable: 'RETRIEVAL_URL',
    secrets: [],
    isBusy: true,
  },
  {
    name: 'admin',
    entry: 'apps/admin/src/main.ts',
    stage: 'service',
    port: ADMIN_PORT,
    urlVariable: 'ADMIN_URL',
    secrets: [
      'GATEWAY_ADMIN_TOKEN',
      'GATEWAY_BOOTSTRAP_KEY',
      'ADMIN_INSTANCE_KEY',
      'WEBHOOK_SECRET',
      'OIDC_CLIENT_SECRET',
      'DATABASE_URL',
    ],
  },
  {
    name: 'edge',
    entry: 'apps/edge/src/main.ts',
    stage: 'edge',
    port: EDGE_PORT,
    furtherPorts: [EDGE_METRICS_PORT],
    urlVariable: null,
    secrets: [],
    isBusy: true,
  },
] as const satisfies readonly ProcessRow[];

/** The services and workers have these names in either mode. */
export type ProcessName = (typeof EACH)[number]['name'];

/** As few processes as there can be. */
const ONE: readonly ProcessRow[] = [
  SIMULATOR,
  {
    name: 'gateway',
    entry: 'apps/gateway/src/main.ts',
    stage: 'edge',
    port: EDGE_PORT,
    furtherPorts: [EDGE_METRICS_PORT, ADMIN_PORT],
    urlVariable: null,
    secrets: SECRET_VARIABLES,
    parts: ['edge', 'text', 'image', 'audio', 'retrieval', 'admin'],
    isBusy: true,
  },
  {
    name: 'workers',
    entry: 'apps/gateway/src/worker.ts',
    stage: 'edge',
    port: null,
    urlVariable: null,
    secrets: ['WEBHOOK_SECRET'],
    parts: ['text-worker', 'image-worker', 'audio-worker'],
    isInternal: true,
  },
];

/**
 * Node's options for a busy process; `docker-compose.yml` has them too. Both save processor time for memory: after much
 * load an idle process stays as large as it was.
 */
export const BUSY_NODE_OPTIONS: readonly string[] = [
  // When V8 finds a process idle for eight seconds it compacts its memory, and the code that it has compiled for objects
  // that are gone is lost: measured after a pause of 40 s, text took 1,300 to 1,600 µs for each of the next two thousand
  // requests, and takes 570 with this option.
  '--no-memory-reducer',
  // Bodies lie outside of V8's heap. By itself V8 goes through the whole heap each time some 20 MB of them have passed;
  // with these two it counts them with the heap, and begins at 64 MB: measured, a request of 115 KB takes a quarter less.
  '--external-memory-accounted-in-global-limit',
  '--initial-old-space-size=64',
];

/** Every process of the gateway except Redis. */
export const PROCESSES: Readonly<Record<ProcessMode, readonly ProcessRow[]>> = { one: ONE, each: EACH };

/** The mode in `GATEWAY_PROCESSES`; `one` if it is not set. @throws StartError for another value */
export function processModeOf({ GATEWAY_PROCESSES: value }: Environment): ProcessMode {
  const mode = PROCESS_MODES.find((known) => known === (value || 'one'));
  if (mode === undefined)
    throw new StartError(
      "GATEWAY_PROCESSES must be 'one' (the edge, the services and admin in one process, the workers in a second) or 'each' (a process for each).",
    );
  return mode;
}
