import type { Candidate } from '@gateway/upstream/candidate';
import type { FoundOrigin, IdKind, IdOrigin } from '../../stored/origins/id-origins.ts';
import { isMadeAt, makerName } from '../../stored/origins/maker.ts';
import type { NamedId } from '../../stored/origins/named-ids.ts';
import { notFound } from '../history/not-found.ts';
import { type History, isStateful, knowsNamed, namesStored } from '../request/history.ts';
import type { OpenedCall } from '../request/text-call.ts';

/**
 * Selects the candidates that can serve what a request names, best first: the channel that knows it, then the others, if the
 * gateway stores all of it. All keys share one account at a provider, which answers for any of its ids. So each id is
 * checked against the key that received it.
 *
 * @throws {GatewayError} for an id of another key, and for a required id that is not known. The two errors look the same.
 */
export function pinCandidates(
  call: Pick<OpenedCall, 'endpoint' | 'request' | 'history'>,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const { request, endpoint, history } = call;
  const { ids, thread } = request;
  const own = candidates.filter(
    ({ protocol, route }) =>
      protocol === endpoint.protocol && (thread === null || route.quirks.messageThreads),
  );
  // The gateway does not keep this turn's thread: only a channel that keeps threads can serve it.
  const unknown = ids.find(({ path }) => path[0] === 'thread');
  if (unknown !== undefined && own.length === 0) throw notFound(unknown);
  const usable = thread === null ? candidates : own;
  // Translation refuses ids of providers, except for what the gateway stores.
  if (ids.length === 0 || (own.length === 0 && !ids.some(({ kind }) => STORED_KINDS.has(kind))))
    return usable;
  checkNamed(history, ids);
  if (history.isWhole && namesStored(call)) return heldFirst(usable, request, history);

  const known = ids.flatMap((named, index) => {
    const origin = history.origins[index];
    return isKnown(origin) && named.need !== 'none' ? [{ named, origin }] : [];
  });
  const [first] = known;
  const lost = ids.find((named, index) => isStateful(named) && !isKnown(history.origins[index]));
  if (lost !== undefined) throw notFound(lost);
  if (first === undefined) return usable;
  const pinned = own.filter((candidate) => isMadeAt(first.origin, candidate));
  for (const { named, origin } of known) {
    const isElsewhere = pinned.length === 0 || makerName(origin) !== makerName(first.origin);
    if (named.need === 'required' && isElsewhere) throw notFound(named);
  }
  if (!known.some(({ named }) => named.need === 'required')) {
    const others = usable.filter(({ protocol }) => protocol !== endpoint.protocol);
    return pinned.length === 0 ? usable : [...pinned, ...others];
  }
  const sameModel = pinned.filter(({ model }) => model === first.origin.model);
  return sameModel.length > 0 ? sameModel : pinned;
}

/** What the gateway can store itself. Then a channel that does not know it can serve. */
const STORED_KINDS: ReadonlySet<IdKind> = new Set(['response', 'item', 'conversation']);

/** A provider that has what a request names gets the ids; other channels get the whole conversation. */
function heldFirst(
  usable: readonly Candidate[],
  request: OpenedCall['request'],
  history: History,
): readonly Candidate[] {
  const holding = usable.filter((candidate) => knowsNamed({ request, history }, candidate));
  const others = usable.filter((candidate) => !holding.includes(candidate));
  return [...holding, ...others];
}

function checkNamed(history: History, ids: readonly NamedId[]): void {
  for (const [index, named] of ids.entries()) {
    const origin = history.origins[index];
    if (isKnown(origin) || isStored(history, named)) continue;
    if (origin === 'foreign' || named.need === 'required') throw notFound(named);
  }
}

const isStored = (history: History, { kind, id }: NamedId): boolean =>
  (history.continued?.kind === kind && history.continued.id === id) ||
  (kind === 'item' && history.items.has(id));

const isKnown = (origin: FoundOrigin | undefined): origin is IdOrigin => typeof origin === 'object';
