import { type Found, found } from './finding.ts';
import type { FindingSources } from './read-findings.ts';
import { counted, duration, instantOf } from './wording.ts';

const DAY_MS = 86_400_000;
/** A spool that is written and read within this time is no news: that is what it is for. */
const SPOOL_PATIENCE_MS = 60_000;

/** The configuration's file, where it has mistakes. */
export async function configurationFindings({ readConfigurationState }: FindingSources): Promise<Found[]> {
  const { path, mistakes, changedAtMs } = await readConfigurationState();
  const [first] = mistakes;
  if (first === undefined) return [];
  const where = first.line === null ? '' : ` in line ${first.line}`;
  return [
    found({
      kind: 'configuration_invalid',
      subject: path,
      sentence: `The configuration file is invalid, so the services continue with the previous one: found ${first.found}${where}, expected ${first.expected}.`,
      comparison: mistakes.length === 1 ? null : `It has ${mistakes.length} mistakes.`,
      affects: 'No change of the file takes effect, and no process can start with it.',
      advice: 'Correct the file. The configuration page shows the line of each mistake.',
      since: changedAtMs === null ? null : instantOf(changedAtMs),
      isUrgent: true,
    }),
  ];
}

/** Queues in which a job waits for long. */
export async function queueFindings({ jobs, now, thresholds }: FindingSources): Promise<Found[]> {
  const patienceMs = (await thresholds()).queueSeconds * 1000;
  return (await jobs.counts()).flatMap(({ queue, queued, inProgress, oldestQueuedAtMs }) =>
    oldestQueuedAtMs === null || now() - oldestQueuedAtMs < patienceMs
      ? []
      : [
          found({
            kind: 'queue_waiting',
            subject: queue,
            sentence: `Jobs waiting in the queue '${queue}': ${queued}, one of them for ${duration(now() - oldestQueuedAtMs)}.`,
            comparison: `${counted(inProgress, 'job')} in progress; more than ${duration(patienceMs)} is too long.`,
            advice: inProgress === 0 ? 'Check that its workers run.' : 'Add workers to run them sooner.',
            since: instantOf(oldestQueuedAtMs),
          }),
        ],
  );
}

/** Usage that the database does not take, and usage that Redis does not take. */
export async function usageFindings({ usage, readSpool, now }: FindingSources): Promise<Found[]> {
  const trouble = usage.trouble();
  const spool = await readSpool();
  const isSpooled = spool.oldestMs !== null && now() - spool.oldestMs > SPOOL_PATIENCE_MS;
  return [
    ...(trouble === null
      ? []
      : [
          found({
            kind: 'usage_waiting',
            subject: 'database',
            sentence:
              trouble.kind === 'other database'
                ? `${trouble.reason} Usage waits in Redis until then.`
                : `Usage waits in Redis because the database does not take it (${trouble.reason}).`,
            affects:
              'Nothing is lost, and no request is affected. Pages of usage, keys and teams cannot be read.',
            advice: 'Check the database.',
            since: instantOf(trouble.sinceMs),
            isUrgent: true,
          }),
        ]),
    ...(isSpooled && spool.oldestMs !== null
      ? [
          found({
            kind: 'usage_spooled',
            subject: 'usage-spool',
            sentence: `Usage waits on disk because Redis does not take it: ${counted(Math.ceil(spool.bytes / 1024), 'kilobyte')} in ${counted(spool.files, 'file')}.`,
            comparison: `The oldest has waited for ${duration(now() - spool.oldestMs)}; it takes seconds where Redis answers.`,
            affects:
              'Limits and budgets do not count these requests yet. Nothing is lost as long as the disk is there.',
            advice: 'Check that Redis can be reached and has memory left.',
            since: instantOf(spool.oldestMs),
            isUrgent: true,
          }),
        ]
      : []),
  ];
}

/** Models that were used without a price. */
export async function unpricedModels({ usage, now }: FindingSources): Promise<Found[]> {
  const range = { fromMs: now() - DAY_MS, toMs: now() };
  const rows = await usage.sums({ ...range, groupBy: ['model'], only: {} });
  return rows.flatMap(({ group: { model = '' }, sums: { unpricedRequests } }) =>
    unpricedRequests === 0
      ? []
      : [
          found({
            kind: 'unpriced_model',
            subject: model,
            sentence: `The model '${model}' has no price, so the cost of ${counted(unpricedRequests, 'request')} in the last day is unknown.`,
            advice: 'Set a price in the configuration.',
            about: { models: [model] },
          }),
        ],
  );
}
