import type { History } from '../request/history.ts';

/** What decides whether a response is stored. */
interface StoringFacts {
  readonly storing: History['storing'];
  /** Its provider stores responses under the ids that callers get. */
  readonly isProviders: boolean;
  /** The response itself says `store: false`. */
  readonly saysUnstored: boolean;
  /** Whether everything that led to it is here. */
  readonly isWhole: boolean;
}

export interface Storing {
  /** `here`: by the gateway. `provider`: by its provider alone. `nowhere`: at most the caller's connection can continue it. */
  readonly where: 'here' | 'provider' | 'nowhere';
  /** The `store` that its caller gets; null: what the response itself says. */
  readonly shown: boolean | null;
}

/** Where a response is stored, and what its caller learns of that. */
export function decideStoring({ storing, isProviders, saysUnstored, isWhole }: StoringFacts): Storing {
  // A server that stores nothing itself may say so, and need not.
  const isDenied = isProviders && saysUnstored;
  if (storing === 'unwanted' || isDenied) return { where: 'nowhere', shown: null };
  if (storing === 'refused') return { where: 'nowhere', shown: false };
  if (isWhole) return { where: 'here', shown: saysUnstored ? true : null };
  return isProviders ? { where: 'provider', shown: null } : { where: 'nowhere', shown: false };
}
