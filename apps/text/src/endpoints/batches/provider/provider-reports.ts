import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter } from 'prom-client';
import type { ProviderReport } from './provider-batch.ts';

interface ReportTargets {
  readonly logger: Readonly<Record<'info' | 'warn', (fields: object, message: string) => void>>;
  readonly metrics: MetricsRegistry;
}

/** Logs and counts what providers do of batches. */
export function providerReports({
  logger,
  metrics: { registry },
}: ReportTargets): (report: ProviderReport) => void {
  const batches = new Counter({
    name: 'gateway_provider_batches_total',
    help: "Batches that were given to a channel's provider, by how that ended: done, refused (the gateway does their lines itself) or lost",
    labelNames: ['channel', 'outcome'],
    registers: [registry],
  });
  return (report) => {
    batches.inc({ channel: report.channel, outcome: report.outcome });
    const isGood = report.outcome === 'done' && report.missing === 0 && report.strange === 0;
    logger[isGood ? 'info' : 'warn'](report, 'a provider was given the lines of a batch');
  };
}
