import { z } from 'zod';
import { aroundOf } from './circumstances.ts';
import { isOfSession } from './realtime-provider.ts';
import { type Round, shown } from './round.ts';

const MODEL = 'gpt-realtime';
/** Of a session that is charged after its end. */
const SETTLED_WITHIN_MS = 8000;

/** Responses that are charged twice, or not though their provider reported them, and charges that no provider reported. */
export function miscountedResponses(
  round: Pick<Round, 'travelled' | 'happened' | 'attempted' | 'books' | 'abandoned'>,
): string[] {
  const { travelled, happened, attempted, books, abandoned } = round;
  const records = Object.values(books.records)
    .flat()
    .filter(({ model }) => model === MODEL);
  const begun = attempted.filter(isOfSession);
  const charged = Map.groupBy(
    records.filter(({ estimated, inputTokens }) => !estimated && inputTokens > 0),
    ({ inputTokens }) => inputTokens,
  );
  const reported = begun.filter(({ used }) => (used?.inputTokens ?? 0) > 0);
  const known = new Set(reported.map(({ used }) => used?.inputTokens));
  const unfounded = [...charged.keys()].filter((tokens) => !known.has(tokens));
  const wrong = reported.flatMap(({ mark, provider, fault, used }) => {
    const found = charged.get(used?.inputTokens ?? 0) ?? [];
    if (found.length === 1 && found[0]?.outputTokens === used?.outputTokens) return [];
    const trip = travelled.find(({ planned }) => mark.startsWith(`${planned.name}t`));
    // A process that is killed takes along what it has not accounted; a provider that goes away, what it has not sent.
    const isExcused =
      trip !== undefined &&
      aroundOf({ ...trip, endedAt: trip.endedAt + SETTLED_WITHIN_MS }, happened, attempted).happened.some(
        ({ disturbance }) =>
          (disturbance.kind === 'kill' && disturbance.of === 'audio') || disturbance.kind === 'provider-away',
      );
    if (found.length === 0 && (isExcused || hasLost(round))) return [];
    return [
      `${mark} (${provider}, ${fault}) is charged ${found.length} times${trip ? `: ${shown(trip)}` : ''}`,
    ];
  });
  return [
    ...wrong,
    ...unfounded.map((tokens) => `${tokens} input tokens are charged that no provider reported`),
    ...(records.length > begun.length + abandoned
      ? [`${records.length} records of ${begun.length} responses and ${abandoned} that were abandoned`]
      : []),
  ];
}

const hasLost = ({ happened }: Pick<Round, 'happened'>): boolean =>
  happened.some(({ disturbance }) => disturbance.kind === 'redis-loses');

const ClosedLine = z.object({ connectionId: z.string(), reason: z.string() });

/** Sessions whose process lived on, and that ended as if it had not, or as if their caller had gone. */
export function unfoundedEnds({ travelled, happened, attempted, lines }: Round): string[] {
  const reasons = new Map<string, string[]>();
  for (const { text } of lines) {
    if (!text.includes('realtime session closed')) continue;
    const { connectionId, reason } = ClosedLine.parse(JSON.parse(text));
    const [name = ''] = connectionId.split('-');
    reasons.set(name, [...(reasons.get(name) ?? []), reason]);
  }
  return travelled.flatMap((trip) => {
    const { planned, reading } = trip;
    if (planned.kind !== 'realtime session') return [];
    const ends = reasons.get(planned.name) ?? [];
    const lostEdge = aroundOf(trip, happened, attempted).happened.some(
      ({ disturbance }) =>
        (disturbance.kind === 'kill' || disturbance.kind === 'stop') && disturbance.process === planned.edge,
    );
    const isGone = planned.manner === 'leaves' || lostEdge;
    const isLost = ends.includes('lost') && !isGone;
    // Its last session is that of the process that was killed, which wrote no line.
    const { failure } = reading;
    const isKilled = failure?.where === 'stream' && failure.code === 'service_unavailable';
    const wroteAll = isKilled && happened.every(({ disturbance }) => disturbance.kind !== 'kill');
    return isLost || wroteAll ? [`${shown(trip)} ended: ${ends.join()}`] : [];
  });
}
