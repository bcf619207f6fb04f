import { join } from 'node:path';
import type { Environment } from '@gateway/contracts/environment';
import { ownEnvironment } from '@gateway/contracts/environment';
import { NO_REDIS_FILES, redisUrlOf } from '@gateway/redis/place/redis-url';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { loadConfiguration } from '@gateway/upstream/configuration/load-configuration';
import { COMPILE_CACHE } from './compile-cache.ts';
import { newInstanceKey, openDataFolder, removeAdminRecord, writeAdminRecord } from './data-folder.ts';
import { chooseAddresses, type KnownAddresses } from './processes/addresses.ts';
import { createFleet, type Fleet } from './processes/fleet.ts';
import { createPortChooser, type PortChoice } from './processes/ports.ts';
import { PROCESSES, type ProcessMode, type ProcessName, type ProcessRow } from './processes/process-table.ts';
import type { StackProcess } from './processes/start-process.ts';
import { startProcesses } from './processes/start-processes.ts';
import type { Restarts } from './processes/supervise.ts';
import { startRedis } from './redis/start-redis.ts';
import { loadSecrets } from './secrets.ts';

export interface StackOptions {
  /** The folder for Redis, secrets, assets and spools; one stack at a time. */
  readonly dataDir: string;
  /** The whole environment for the configuration and the processes: nothing is added from this process. */
  readonly env: Environment;
  /** `gateway.yaml`; without one, the providers in `env`. */
  readonly configurationPath?: string;
  /** The processes' working directory, where a `gateway.yaml` is looked for when none is named. Default: the data folder. */
  readonly workingFolder?: string;
  /** Default: `free`. */
  readonly ports?: PortChoice;
  /** Default: `each`. */
  readonly mode?: ProcessMode;
  /** What to run. Default: all. A process of several runs for each of its parts. The simulator runs only if a channel leads to it. */
  readonly services?: readonly ProcessName[];
  /** How many replicas of each, in the mode `each`. Default: 1. */
  readonly replicas?: Partial<Record<ProcessName, number>>;
  /** Default: true. */
  readonly restarts?: Restarts;
  /** Every line that a process writes. */
  readonly onLines?: (process: string, lines: readonly string[]) => void;
  /** Called with a sentence for each event of a process. */
  readonly report?: (line: string) => void;
  /** Aborts the start; no process stays running. */
  readonly signal?: AbortSignal;
  /** Another set of processes, with entries below `root`, for tests of the stack itself. */
  readonly processes?: readonly ProcessRow[];
  readonly root?: string;
}

export interface Stack {
  /** The base URL of Messages clients; all others append `/v1`. */
  readonly edgeUrl: string;
  /** The edge's own `/metrics` is here. */
  readonly edgeMetricsUrl: string;
  /** Null if it does not run. */
  readonly adminUrl: string | null;
  /** The bootstrap key: a caller's key that works. */
  readonly key: string;
  readonly adminToken: string;
  readonly redisUrl: string;
  readonly configuration: Configuration;
  /** Redis is the first, unless `REDIS_URL` is set. */
  readonly processes: readonly StackProcess[];
  /** The process of this name; replicas are `text`, `text-2`, … */
  process(name: string): StackProcess;
  /** Stops all in order: services, simulator, Redis; within the environment's `DRAIN_TIMEOUT_MS` and a little. */
  stop(): Promise<void>;
  /** Ends all at once. */
  end(): Promise<void>;
}

const ROOT = join(import.meta.dirname, '../../..');
const DRAIN_TIMEOUT_MS = 30_000;
/** How long after its own deadline a process is killed: edges have a second to leave it, and what it aborted has one to end. */
const GRACE_MS = 5_000;
const WAVES = { service: 0, edge: 0, upstream: 1, redis: 2 } as const;

/**
 * Runs the gateway's processes and, unless `REDIS_URL` is set, a Redis as children on this machine.
 * Resolves when all of them serve. If one cannot start, none stays running.
 * @throws StartError, or the configuration's ConfigurationError
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const fleet = createFleet();
  try {
    return await start(options, fleet);
  } catch (error) {
    await fleet.stop();
    throw error;
  }
}

async function start(options: StackOptions, fleet: Fleet): Promise<Stack> {
  const { ports = 'free', mode = 'each', restarts = true, report = () => undefined } = options;
  const signal = options.signal ?? new AbortController().signal;
  const dataFolder = await openDataFolder(options.dataDir);
  fleet.last(dataFolder.release);
  const workingFolder = options.workingFolder ?? dataFolder.path;

  // A stack that was killed leaves a record of an old address.
  await removeAdminRecord(dataFolder.path);
  fleet.last(() => removeAdminRecord(dataFolder.path));

  const given = ownEnvironment(options.env);
  const portChooser = createPortChooser({ choice: ports, env: given, report });
  const addresses = await chooseAddresses(portChooser, given, mode);
  const env: Environment = {
    ...given,
    SIMULATOR_URL: addresses.simulatorUrl,
    ...(options.configurationPath ? { GATEWAY_CONFIG: options.configurationPath } : {}),
  };
  const path = env.GATEWAY_CONFIG || join(workingFolder, 'gateway.yaml');
  const configuration = await loadConfiguration({ path, env });

  const secrets = await loadSecrets(dataFolder.path, env);
  const drainMs = Number(env.DRAIN_DELAY_MS || 0) + Number(env.DRAIN_TIMEOUT_MS || DRAIN_TIMEOUT_MS);
  const givenUrl = redisUrlOf(env);
  if (givenUrl !== undefined) {
    // Its client is a third of what this process would load, and the stack's own Redis does not need it.
    const { checkRedis } = await import('./redis/check-redis.ts');
    await checkRedis(givenUrl, report);
  }
  if (env.DATABASE_URL) {
    const { checkDatabaseUrl } = await import('./check-database.ts');
    await checkDatabaseUrl(env.DATABASE_URL);
  }
  const redis =
    givenUrl !== undefined
      ? null
      : await startRedis({
          dataFolder: dataFolder.path,
          password: secrets.redisPassword,
          signal,
          restarts,
          report,
        });
  if (redis) fleet.add(WAVES.redis, redis.supervised, GRACE_MS);
  const redisUrl = redis?.supervised.current().url ?? givenUrl ?? '';

  const instanceKey = newInstanceKey();
  const isKnown = (port: ProcessRow['port']) => port !== null && port.variable in addresses.ports;
  const rows = (options.processes ?? PROCESSES[mode]).filter(
    isSelected(options, configuration, addresses.simulatorUrl),
  );
  const processes = await startProcesses({
    rows,
    replicas: options.replicas ?? {},
    ports: { ...(await portChooser.reported(rows.filter(({ port }) => !isKnown(port)))), ...addresses.ports },
    env: {
      ...env,
      NODE_ENV: env.NODE_ENV || 'production',
      NODE_COMPILE_CACHE: env.NODE_COMPILE_CACHE || COMPILE_CACHE,
      ...furtherPorts(rows, addresses.ports),
      PUBLIC_URL: env.PUBLIC_URL || addresses.edgeUrl,
      EDGE_URL: addresses.edgeUrl,
      REDIS_URL: redisUrl,
      ...NO_REDIS_FILES,
      GATEWAY_DATA_DIR: dataFolder.path,
      GATEWAY_SECRET: secrets.secret,
      GATEWAY_BOOTSTRAP_KEY: secrets.bootstrapKey,
      GATEWAY_ADMIN_TOKEN: secrets.adminToken,
      WEBHOOK_SECRET: secrets.webhookSecret,
      ADMIN_INSTANCE_KEY: instanceKey,
      // They write JSON for this process, which prints it for a person.
      LOG_FORMAT: 'json',
    },
    root: options.root ?? ROOT,
    workingFolder,
    signal,
    restarts,
    report,
    onLines: options.onLines ?? (() => undefined),
    onStarted: ({ stage }, supervised) => fleet.add(WAVES[stage], supervised, drainMs + GRACE_MS),
  });

  const all = redis ? [redis.process, ...processes] : processes;
  const find = (name: string) => all.find((process) => process.name === name);
  const adminUrl = addresses.adminUrl ?? find('admin')?.url ?? null;
  if (adminUrl !== null) await writeAdminRecord(dataFolder.path, { url: adminUrl, instanceKey });
  return {
    edgeUrl: addresses.edgeUrl,
    edgeMetricsUrl: addresses.edgeMetricsUrl,
    adminUrl,
    key: secrets.bootstrapKey,
    adminToken: secrets.adminToken,
    redisUrl,
    configuration,
    processes: all,
    process: (name) => {
      const found = find(name);
      if (!found) throw new Error(`no process ${name} in ${all.map((each) => each.name).join(', ')}`);
      return found;
    },
    stop: fleet.stop,
    end: fleet.end,
  };
}

/** The simulator runs if a channel leads to its address; the others run if `services` names one of their parts. */
function isSelected({ services, env }: StackOptions, { channels }: Configuration, simulatorUrl: string) {
  const isSimulated = [...channels.values()].some(
    ({ provider, origin }) => provider === 'simulator' && origin === simulatorUrl,
  );
  return ({ name, stage, parts = [name] }: ProcessRow): boolean =>
    (services === undefined || services.some((service) => parts.includes(service))) &&
    (stage !== 'upstream' || (isSimulated && !env.SIMULATOR_URL));
}

/** The further ports of processes, besides each one's own. */
const furtherPorts = (rows: readonly ProcessRow[], ports: KnownAddresses['ports']): Environment =>
  Object.fromEntries(
    rows.flatMap((row) => row.furtherPorts ?? []).map(({ variable }) => [variable, String(ports[variable])]),
  );
