import { NOT_OF_PROVIDER } from '@gateway/upstream/failures/failure-rules';
import {
  type AttemptSlice,
  type CountsByChannel,
  sumOfSlices,
} from '@gateway/upstream/health/attempt-counts';
import { type Found, found } from './finding.ts';
import type { FindingSources } from './read-findings.ts';
import { affectedModels } from './routes.ts';
import { counted, instantOf, percent, sentence } from './wording.ts';

const DAY_MS = 86_400_000;
/** The slice that is under way, and the one before. */
const NOW_SLICES = 2;
/** From this share on callers notice, whatever else serves their models. */
const URGENT_SHARE = 0.5;
/** Attempts that say nothing of the channel: those, and one that was full. */
const NOT_COUNTED: ReadonlySet<string> = new Set(['busy', ...NOT_OF_PROVIDER]);

interface Ends {
  readonly failed: number;
  readonly all: number;
  readonly commonest: string | null;
}

function endsOf(counts: CountsByChannel, channel: string): Ends {
  const ends = Object.entries(counts.get(channel) ?? {}).filter(([outcome]) => !NOT_COUNTED.has(outcome));
  const failures = ends.filter(([outcome]) => outcome !== 'ok').toSorted(([, a], [, b]) => b - a);
  const total = (of: typeof ends) => of.reduce((sum, [, count]) => sum + count, 0);
  return { failed: total(failures), all: total(ends), commonest: failures[0]?.[0] ?? null };
}

const shareOf = ({ failed, all }: Ends): number => (all === 0 ? 0 : failed / all);

/** Channels whose attempts fail, also where callers do not notice since another one answers. */
export async function attemptFindings({
  attemptSlices,
  readConfiguration,
  thresholds,
}: FindingSources): Promise<Found[]> {
  const [slices, configuration, { failureRate, minRequests }] = await Promise.all([
    attemptSlices(DAY_MS),
    readConfiguration(),
    thresholds(),
  ]);
  const recent = sumOfSlices(slices.slice(-NOW_SLICES));
  const usual = sumOfSlices(slices.slice(0, -NOW_SLICES));
  return [...recent.keys()].flatMap((channel) => {
    const ends = endsOf(recent, channel);
    if (ends.all < minRequests || shareOf(ends) < failureRate) return [];
    const before = endsOf(usual, channel);
    const { models, stuck, text } = affectedModels(configuration, { channel, model: null });
    const isStuck = models.length > 0 && stuck.length === models.length;
    return [
      found({
        kind: 'channel_failing',
        subject: channel,
        sentence: `${percent(shareOf(ends))} of the attempts at the channel '${channel}' failed.`,
        comparison: `${counted(ends.failed, 'attempt')} of ${ends.all.toLocaleString('en')} in the last 10 to 20 minutes, most of them ${ends.commonest}; ${before.all === 0 ? 'there were none in the day before' : `${percent(shareOf(before))} is usual (last day)`}.`,
        affects: text === null ? null : sentence(text),
        advice: isStuck
          ? 'Send a test request. Resting the channel moves nothing, since no other one serves its models: add a route.'
          : 'Send a test request, or rest the channel so that requests go elsewhere.',
        about: { channels: [channel], models },
        actions: ['test_channel', 'rest_channel'],
        since: instantOf(sinceOf(slices, channel, failureRate)),
        isUrgent: shareOf(ends) >= URGENT_SHARE,
      }),
    ];
  });
}

function sinceOf(slices: readonly AttemptSlice[], channel: string, failureRate: number): number {
  let since = slices.at(-1)?.fromMs ?? 0;
  for (const { fromMs, counts } of slices.toReversed()) {
    const ends = endsOf(counts, channel);
    if (ends.all === 0) continue;
    if (shareOf(ends) < failureRate) break;
    since = fromMs;
  }
  return since;
}
