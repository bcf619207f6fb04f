import type { Candidate } from '../candidate.ts';
import type { RouteLoads } from './route-loads.ts';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const TWO_32 = 2 ** 32;

/** FNV-1a over UTF-16 units, continued from `from`. */
const hash = (text: string, from: number): number => {
  let value = from;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), FNV_PRIME);
  }
  return value;
};

/** Spreads every bit of a hash over all of it: the finalizer of MurmurHash3. */
const mix = (hashed: number): number => {
  let value = hashed;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
};

const hashOf = (text: string): number => hash(text, FNV_OFFSET);

/**
 * The value of a name for a key: the name with the lowest value is the key's. Over many keys a name has its share by
 * weight, and a name that comes or goes moves only the keys that it has: the values of the others stay.
 *
 * Weighted rendezvous hashing: an exponentially distributed number with the weight as its rate.
 *
 * @param keyHash of `hashOf`
 */
const standingOf = (keyHash: number, name: string, weight: number): number =>
  -Math.log((mix(hash(name, keyHash)) + 0.5) / TWO_32) / weight;

/**
 * Which candidate suits the requests of one conversation. `key`: what these requests have in common, so that
 * all of them lead to the same candidate. `at`: the candidate that answered the last of them.
 */
export type Affinity = { readonly key: string } | { readonly at: (candidate: Candidate) => boolean };

/** What decided which candidate comes first. */
export type ChosenBy = 'affinity' | 'weight' | 'load';

export interface OrderOptions {
  /** Sorted by rank; the accounts of a route are adjacent. */
  readonly candidates: readonly Candidate[];
  /** Whether two candidates have the same rank. Then either may come first. */
  readonly isSameRank: (one: Candidate, other: Candidate) => boolean;
  readonly affinity: Affinity | null;
  readonly loads: Pick<RouteLoads, 'isLighter'>;
  /** In [0, 1). */
  readonly random: () => number;
}

interface Ordered {
  readonly candidates: readonly Candidate[];
  /** Null: there was no choice. */
  readonly by: ChosenBy | null;
}

/** A route's name among the routes of a model. */
const routeName = ({ channel, model }: Candidate): string => `${channel.name}\n${model}`;

/** The index of one of them, drawn with a chance in proportion to its weight. */
const draw = (candidates: readonly Candidate[], random: () => number): number => {
  let point = random() * candidates.reduce((sum, { weight }) => sum + weight, 0);
  let index = 0;
  for (; index < candidates.length - 1; index += 1) {
    point -= candidates[index]?.weight ?? 0;
    if (point < 0) break;
  }
  return index;
};

/** Moves one candidate to the other list, at random by weight. */
const drawOne = (from: Candidate[], to: Candidate[], random: () => number): void => {
  to.push(...from.splice(from.length === 1 ? 0 : draw(from, random), 1));
};

/**
 * Two candidates are drawn by weight. The less loaded one comes first; if neither is clearly less loaded, the
 * first drawn. So a candidate's share stays near its weight: for a weight w it is never less than w², and
 * never more than 1 − (1 − w)². The other accounts of its route follow, then the rest by weight.
 */
const orderByLoad = (group: readonly Candidate[], { loads, random }: OrderOptions): Ordered => {
  const left = [...group];
  const one = draw(left, random);
  const other = draw(left, random);
  const [first, second] = [left[one], left[other]];
  const isLighter = first !== second && first && second && loads.isLighter(second, first);
  const ordered = left.splice(isLighter ? other : one, 1);
  const [winner] = ordered;
  const siblings = left.filter(({ route }) => route === winner?.route);
  const others = siblings.length === 0 ? left : left.filter(({ route }) => route !== winner?.route);
  while (siblings.length > 0) drawOne(siblings, ordered, random);
  while (others.length > 0) drawOne(others, ordered, random);
  return { candidates: ordered, by: isLighter ? 'load' : 'weight' };
};

/**
 * All replicas find the same order without sharing anything. Routes are ordered by their channel's name and
 * weight, the accounts of a route by their own name and weight. So a new account moves nothing between
 * channels.
 */
const orderByKey = (group: readonly Candidate[], text: string): Ordered => {
  const key = hashOf(text);
  const standings = group.map((candidate) => {
    const { route, account, channel } = candidate;
    return {
      candidate,
      route: standingOf(key, routeName(candidate), route.weight),
      account: standingOf(key, `${channel.name}/${account.name}`, account.weight),
    };
  });
  standings.sort((a, b) => a.route - b.route || a.account - b.account);
  return { candidates: standings.map(({ candidate }) => candidate), by: 'affinity' };
};

/** Those that answered before come first, in the order of their load. */
const orderByLast = (
  group: readonly Candidate[],
  isLast: (candidate: Candidate) => boolean,
  options: OrderOptions,
): Ordered => {
  const { candidates, by } = orderByLoad(group, options);
  const last = candidates.filter(isLast);
  if (last.length === 0) return { candidates, by };
  return { candidates: [...last, ...candidates.filter((one) => !last.includes(one))], by: 'affinity' };
};

const orderGroup = (group: readonly Candidate[], options: OrderOptions): Ordered => {
  const { affinity } = options;
  if (affinity === null) return orderByLoad(group, options);
  return 'key' in affinity ? orderByKey(group, affinity.key) : orderByLast(group, affinity.at, options);
};

/** The order in which a request is offered to its candidates. */
export const orderCandidates = (options: OrderOptions): Ordered => {
  const { candidates, isSameRank } = options;
  const ordered: Candidate[] = [];
  let by: ChosenBy | null = null;
  for (let start = 0; start < candidates.length; ) {
    const first = candidates[start];
    let end = start + 1;
    for (let next = candidates[end]; first && next && isSameRank(first, next); next = candidates[end])
      end += 1;
    const group = candidates.slice(start, end);
    if (group.length > 1) {
      const choice = orderGroup(group, options);
      if (start === 0) by = choice.by;
      ordered.push(...choice.candidates);
    } else ordered.push(...group);
    start = end;
  }
  return { candidates: ordered, by };
};
