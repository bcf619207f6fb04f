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

interface Started<Schema extends z.ZodType<ProcessSettings>> {
  readonly config: z.infer<Schema>;
  readonly life: Life;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What every `main.ts` and `worker.ts` begins with: settings, logger and metrics, then its life. */
export async function startService<Schema extends z.ZodType<ProcessSettings>>(
  { service, settings, process }: StartOptions<Schema>,
  build: (started: Started<Schema>) => Promise<void>,
): Promise<void> {
  const config = settingsOrExit(settings, process);
  const pretty = config.LOG_FORMAT === undefined ? process.stdout.isTTY : config.LOG_FORMAT === 'pretty';
  const logger = createLogger({ service, level: config.LOG_LEVEL, pretty });
  const metrics = createMetrics(service);
  await runService({ logger, drainTimeoutMs: config.DRAIN_TIMEOUT_MS, process }, (life) =>
    build({ config, life, logger, metrics }),
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
