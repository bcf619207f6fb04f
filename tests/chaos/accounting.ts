import { aroundOf } from './circumstances.ts';
import { kindOf } from './request-kinds.ts';
import { type Round, shown } from './round.ts';

/** A request is accounted for after its answer: for so long its process waits for Redis before it puts that down on disk. */
const SETTLED_WITHIN_MS = 8000;

/** Answers of text and speech without a record that says so, and records with other figures than the provider's. */
export function unaccounted({
  travelled,
  happened,
  attempted,
  books,
}: Pick<Round, 'travelled' | 'happened' | 'attempted' | 'books'>): string[] {
  const records = new Map(
    Object.values(books.records).flatMap((all) => all.map((record) => [record.id, record])),
  );
  return travelled.flatMap((trip) => {
    const { planned, reading, exchanges } = trip;
    const [only] = exchanges;
    if (exchanges.length !== 1 || only === undefined || planned.kind === 'list of models') return [];
    if (reading.failure !== null || only.end !== 'complete' || only.status !== 200) return [];
    // A process that is killed right after its answer has no log line, and its reservation is charged as abandoned.
    const { service, worker } = kindOf(planned.kind);
    const settled = { ...trip, endedAt: trip.endedAt + SETTLED_WITHIN_MS };
    const around = aroundOf(settled, happened, attempted).happened;
    if (around.some(({ disturbance }) => disturbance.kind === 'kill' && disturbance.of === service))
      return [];
    const ids = new Set(books.recordsOf.get(only.requestId));
    const found = [...ids].flatMap((id) => records.get(id) ?? []);
    const [record] = found;
    if (found.length !== 1 || record === undefined)
      return [`${shown(trip)} has ${found.length} records (${[...ids].join()})`];
    if (record.outcome !== 'ok') return [`${shown(trip)} is accounted as ${record.outcome}`];
    const answer = attempted.findLast(
      ({ mark, isComplete, used }) => mark === `${planned.name}t1` && isComplete && used,
    );
    // What is generated in the background is counted by none of the provider's replies to requests.
    if (service !== 'text' || worker !== null || record.estimated) return [];
    // A process that stops closes its connections when it has its answers: the provider may take that for a caller who left.
    const isStopped = around.some(
      ({ disturbance }) => disturbance.kind === 'stop' && disturbance.of === service,
    );
    if (answer === undefined && isStopped) return [];
    if (answer?.used?.outputTokens === record.outputTokens && answer.used.inputTokens === record.inputTokens)
      return [];
    return [
      `${shown(trip)} is accounted with ${record.inputTokens}/${record.outputTokens} tokens, the provider counts ${JSON.stringify(answer?.used)}`,
    ];
  });
}

/** How long a place is held without its process. */
const PLACE_LEASE_MS = 60_000;

/** Places that are held when all is quiet, but for those that nobody could give back: they end with their lease. */
export function heldPlaces({ books, happened }: Pick<Round, 'books' | 'happened'>): string[] {
  const ends = happened
    .filter(({ disturbance: { kind } }) => kind === 'kill' || kind.startsWith('redis'))
    .map(({ endedAt }) => performance.timeOrigin + endedAt + PLACE_LEASE_MS);
  const latest = Math.max(0, ...ends);
  return books.placeLeases
    .filter((leaseEnd) => leaseEnd > latest)
    .map((leaseEnd) => `one is held until ${new Date(leaseEnd).toISOString()}`);
}
