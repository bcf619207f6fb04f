import type { Candidate } from '@gateway/upstream/candidate';
import type { Account, Channel } from '@gateway/upstream/configuration/configuration';
import type { IdOrigin } from './id-origins.ts';

/**
 * Who can read what was made: any account of a channel, or only one. Providers keep what is stored, and bind encrypted
 * reasoning, by organisation or project, and different keys of a channel are usually of different ones.
 */
export type Maker = Pick<IdOrigin, 'channel' | 'account'>;

type MadeAt = Pick<Candidate, 'channel' | 'account'>;

const isOnlyAccounts = ({ accounts, accountsShareStorage }: Channel): boolean =>
  accounts.length > 1 && !accountsShareStorage;

/** The maker of what a candidate's provider gives. */
export const makerAt = ({ channel, account }: MadeAt): Maker =>
  isOnlyAccounts(channel) ? { channel: channel.name, account: account.name } : { channel: channel.name };

/** One text for each maker: neither name has a slash in it. */
export const makerName = ({ channel, account }: Maker): string =>
  account === undefined ? channel : `${channel}/${account}`;

/** Where a candidate makes something, and for which key. */
export const originAt = (candidate: Candidate, keyId: string): IdOrigin => ({
  keyId,
  ...makerAt(candidate),
  model: candidate.model,
  requestedModel: candidate.requestedModel,
});

/**
 * Whether a candidate can read what a maker made. After a change of the channel's keys, when the maker is not one of its
 * accounts any more, each of them may try.
 */
export const isMadeAt = (maker: Maker, { channel, account }: MadeAt): boolean => {
  if (channel.name !== maker.channel) return false;
  const isOfMaker = (one: Account): boolean =>
    makerName(makerAt({ channel, account: one })) === makerName(maker);
  return isOfMaker(account) || !channel.accounts.some(isOfMaker);
};
