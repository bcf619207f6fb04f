import { ConfigError } from '@gateway/contracts/config-error';
import { ownEnvironment, serviceLinksIn } from '@gateway/contracts/environment';
import type { z } from 'zod';
import { type ProcessSettings, parseConfig } from './config.ts';
import { type Life, runService } from './life/life.ts';
import { readinessOf } from './life/readiness.ts';
import { createProcessLoad, type ProcessLoad } from './load/process-load.ts';
import { createLogger, type Logger } from './logger.ts';
import {
  createMetrics,
  createPartMetrics,
  createPartRegistry,
  createSharedPage,
  type Metrics,
  type MetricsPage,
  type MetricsRegistry,
  pageOf,
} from './metrics.ts';
import { isTraced } from './tracing/settings.ts';
import type { Tracing } from './tracing/tracing.ts';

/** Files that a process makes are its user's alone: 600, and folders 700. */
const OWNER_ONLY = 0o077;

interface StartOptions<Schema extends z.ZodType<ProcessSettings>> {
  /** The name in log lines and metrics. */
  readonly service: string;
  readonly settings: Schema;
  /** The process itself: its environment, its output, its signals. */
  readonly process: NodeJS.Process;
  /** Whether it takes part in requests of callers, so that it may export traces. Absent: it does. */
  readonly isTraced?: boolean;
}

/** The parts with which a service or a worker is opened. */
export interface Started<Config extends ProcessSettings> {
  readonly config: Config;
  /** The whole environment, from which the configuration file takes the variables that it names. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly life: Life;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The metrics of the whole process, for `/metrics`. */
  readonly page: MetricsPage;
  /** Shared by all parts of the process. */
  readonly processLoad: ProcessLoad;
  /** Undefined where no traces are exported. Shared by all parts of the process. */
  readonly tracing: Tracing | undefined;
}

/** A process that runs several services or workers as its parts. */
export interface StartedProcess<Config extends ProcessSettings>
  extends Pick<Started<Config>, 'config' | 'life' | 'page'> {
  /** A part runs as long as the process; its log lines, metrics and readiness checks have its own name. */
  part(service: string): Started<Config>;
}

/** What every `main.ts` and `worker.ts` of one service begins with: settings, logger and metrics, then its life. */
export async function startService<Schema extends z.ZodType<ProcessSettings>>(
  options: StartOptions<Schema>,
  open: (started: Started<z.infer<Schema>>) => Promise<void>,
): Promise<void> {
  const env = ownEnvironment(options.process.env);
  const metrics = createMetrics(options.service, { exemplars: isTraced(env) });
  await run(options, async ({ config, life, rootLogger }) => {
    const logger = rootLogger.child({ service: options.service });
    const processLoad = createProcessLoad();
    const { service } = options;
    const tracing =
      options.isTraced === false ? undefined : await tracingOf(service, { config, env, life, metrics });
    return open({ config, env, life, logger, metrics, page: pageOf(metrics), processLoad, tracing });
  });
}

/** Starts a process of several parts. `service` names the process itself. */
export async function startParts<Schema extends z.ZodType<ProcessSettings>>(
  options: StartOptions<Schema>,
  open: (started: StartedProcess<z.infer<Schema>>) => Promise<void>,
): Promise<void> {
  await run(options, async ({ config, life, rootLogger }) => {
    const parts: MetricsRegistry[] = [];
    const env = ownEnvironment(options.process.env);
    const page = createSharedPage(options.service, parts);
    const processLoad = createProcessLoad();
    const own = createPartRegistry(options.service);
    const tracing = await tracingOf(options.service, { config, env, life, metrics: own });
    if (tracing !== undefined) parts.push(own);
    return open({
      config,
      life,
      page,
      part: (service) => {
        const logger = rootLogger.child({ service });
        const metrics = createPartMetrics(service, { exemplars: tracing !== undefined });
        parts.push(metrics);
        const readiness = readinessOf(service, life.readiness);
        return {
          config,
          env,
          life: { ...life, logger, readiness },
          logger,
          metrics,
          page,
          processLoad,
          tracing,
        };
      },
    });
  });
}

/** Nothing of it is loaded where no endpoint is set. */
async function tracingOf(
  service: string,
  {
    config,
    env,
    life,
    metrics,
  }: Pick<Started<ProcessSettings>, 'config' | 'env' | 'life'> & {
    metrics: MetricsRegistry;
  },
): Promise<Tracing | undefined> {
  if (!isTraced(env)) return undefined;
  const { openTracing } = await import('./tracing/open-tracing.ts');
  return openTracing({ service, env, life, metrics, drainTimeoutMs: config.DRAIN_TIMEOUT_MS });
}

interface Running<Config> {
  readonly config: Config;
  readonly life: Life;
  /** Without a `service`: each part has its own. */
  readonly rootLogger: Logger;
}

async function run<Schema extends z.ZodType<ProcessSettings>>(
  { service, settings, process }: StartOptions<Schema>,
  build: (running: Running<z.infer<Schema>>) => Promise<void>,
): Promise<void> {
  process.umask(OWNER_ONLY);
  const config = settingsOrExit(settings, process);
  const pretty = config.LOG_FORMAT === undefined ? process.stdout.isTTY : config.LOG_FORMAT === 'pretty';
  const rootLogger = await createLogger({ level: config.LOG_LEVEL, pretty });
  const logger = rootLogger.child({ service });
  const ignored = serviceLinksIn(process.env);
  if (ignored.length > 0)
    logger.info({ ignored }, 'ignoring the variables that Kubernetes sets for Services');
  const { DRAIN_TIMEOUT_MS: drainTimeoutMs, DRAIN_DELAY_MS: drainDelayMs } = config;
  await runService({ logger, drainTimeoutMs, drainDelayMs, process }, (life) =>
    build({ config, life, rootLogger }),
  );
}

function settingsOrExit<Schema extends z.ZodType<ProcessSettings>>(
  settings: Schema,
  process: NodeJS.Process,
): z.infer<Schema> {
  try {
    return parseConfig(settings, process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
