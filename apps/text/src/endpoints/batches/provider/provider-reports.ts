import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter } from 'prom-client';
import type { ProviderReport } from './provider-batch.ts';

interface ReportTargets {
  readonly logger: Readonly<Record<'info' | 'warn', (fields: object, message: string) => void>>;
  readonly metrics: MetricsRegistry;
}

const GIVEN = 'a provider was given the lines of a batch';
const MESSAGES: Readonly<Record<ProviderReport['outcome'], string>> = {
  done: GIVEN,
  refused: GIVEN,
  lost: `${GIVEN}, and nobody knows what became of them: look there whether it bills them`,
  undecided: `${GIVEN}, and does not list its batches: if it cannot be asked before the batch expires, they fail and are charged as estimated`,
};

/** Logs and counts what providers do of batches. */
export function providerReports({
  logger,
  metrics: { registry },
}: ReportTargets): (report: ProviderReport) => void {
  const batches = new Counter({
    name: 'gateway_provider_batches_total',
    help: "Batches that were given to a channel's provider, by how that ended: done, refused (the gateway does their lines itself), lost, or undecided (it does not say whether it has the batch)",
    labelNames: ['channel', 'outcome'],
    registers: [registry],
  });
  return (report) => {
    batches.inc({ channel: report.channel, outcome: report.outcome });
    const isGood = report.outcome === 'done' && report.missing === 0 && report.strange === 0;
    logger[isGood ? 'info' : 'warn'](report, MESSAGES[report.outcome]);
  };
}
