import type { Cooldown } from '../cooldown.ts';

/** What a candidate names of itself: a route's channel, the account whose key it sends, the model's name at the channel. */
export interface HealthCandidate {
  readonly channel: { readonly name: string; readonly cooldown: Cooldown | null };
  readonly account: { readonly name: string };
  readonly model: string;
}

/** What can rest: a channel, one account of it, or one model by that account. Null: all of them. */
export interface Target {
  readonly channel: string;
  readonly account: string | null;
  readonly model: string | null;
}

export const SCOPES = ['channel', 'account', 'model'] as const;
export type Scope = (typeof SCOPES)[number];

export const accountOf = ({ account }: HealthCandidate): string => account.name;

/** The three targets that a request to this candidate depends on. */
const TARGET_OF: Readonly<Record<Scope, (candidate: HealthCandidate) => Target>> = {
  channel: ({ channel }) => ({ channel: channel.name, account: null, model: null }),
  account: (candidate) => ({ channel: candidate.channel.name, account: accountOf(candidate), model: null }),
  model: (candidate) => ({
    channel: candidate.channel.name,
    account: accountOf(candidate),
    model: candidate.model,
  }),
};

export const targetOf = (candidate: HealthCandidate, scope: Scope): Target => TARGET_OF[scope](candidate);

/** Names of channels and accounts have no line end, so that the parts cannot be mistaken for one another. */
export const keyOf = ({ channel, account, model }: Target): string =>
  `${channel}\n${account ?? ''}\n${model ?? ''}`;

/** A model that a person rests without an account rests on all accounts of its channel. */
export const scopeOf = ({ account, model }: Target): Scope => {
  if (model !== null) return 'model';
  return account === null ? 'channel' : 'account';
};

/** Whether requests to the candidate depend on the target. */
export const covers = (target: Target, candidate: HealthCandidate): boolean =>
  target.channel === candidate.channel.name &&
  (target.account === null || target.account === accountOf(candidate)) &&
  (target.model === null || target.model === candidate.model);
