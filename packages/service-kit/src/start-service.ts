import { ConfigError } from '@gateway/contracts/config-error';
import type { z } from 'zod';
import { type ProcessSettings, parseConfig } from './config.ts';
import { type Life, runService } from './life.ts';
import { createLogger, type Logger } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';

interface StartOptions<Schema extends z.ZodType<ProcessSettings>> {
  /** As it appears in log lines and metrics. */
  readonly service: string;
  readonly settings: Schema;
  /** The process itself: its environment, its output, its signals. */
  readonly process: NodeJS.Process;
}

/** What a service or a worker is opened with. */
export interface Started<Config extends ProcessSettings> {
  readonly config: Config;
  /** The whole environment, from which the configuration file takes the variables that it names. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly life: Life;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What every `main.ts` and `worker.ts` begins with: settings, logger and metrics, then its life. */
export async function startService<Schema extends z.ZodType<ProcessSettings>>(
  { service, settings, process }: StartOptions<Schema>,
  open: (started: Started<z.infer<Schema>>) => Promise<void>,
): Promise<void> {
  const config = settingsOrExit(settings, process);
  const pretty = config.LOG_FORMAT === undefined ? process.stdout.isTTY : config.LOG_FORMAT === 'pretty';
  const logger = createLogger({ service, level: config.LOG_LEVEL, pretty });
  const metrics = createMetrics(service);
  await runService({ logger, drainTimeoutMs: config.DRAIN_TIMEOUT_MS, process }, (life) =>
    open({ config, env: process.env, life, logger, metrics }),
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
