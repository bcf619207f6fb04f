import { oncePerOutage } from '@gateway/redis/once-per-outage';
import type { Started } from '@gateway/service-kit/start-service';
import type { Upstream } from '@gateway/upstream/upstream';
import type { FileSettings, ModelSettings } from '../settings.ts';
import { type ContentLog, type ContentProblem, createContentLog } from './content-log.ts';
import { createContentMetrics } from './content-metrics.ts';
import { createContentStore } from './content-store.ts';

const SWEEP_MS = 3_600_000;

type ContentProcess = Started<ModelSettings & FileSettings>;

/** The content log of a process, which opens nothing before it logs something. The process's life closes it. */
export function openContentLog(
  started: ContentProcess,
  { upstream }: { readonly upstream: Pick<Upstream, 'configuration'> },
  { sweeps = false }: { readonly sweeps?: boolean } = {},
): ContentLog {
  const { config, life, logger, metrics } = started;
  const stores = createContentStore(config);
  const reports = new Map<string, (error: unknown) => void>();
  const report = ({ reason, cause }: ContentProblem) => {
    const say =
      reports.get(reason) ??
      oncePerOutage((error) =>
        reason === 'store'
          ? logger.warn({ err: error }, 'the content log cannot be brought to its store; it waits on disk')
          : logger.error({ reason, err: error }, 'the content of requests is lost to the content log'),
      );
    reports.set(reason, say);
    say(cause ?? new Error(reason));
  };
  const log = life.own(
    createContentLog({
      configuration: () => upstream.configuration,
      dataDir: config.GATEWAY_DATA_DIR,
      openStores: stores.get,
      now: Date.now,
      createMetrics: (spool) => createContentMetrics(metrics, spool),
      report,
    }),
    async (opened) => {
      await opened.close();
      await stores.close();
    },
  );
  if (!sweeps) return log;
  const sweep = () => {
    log.sweep().catch((cause: unknown) => report({ reason: 'store', cause }));
  };
  life.own(setInterval(sweep, SWEEP_MS).unref(), clearInterval);
  return log;
}
