import { scryptSync } from 'node:crypto';
import type { Account, Channel, Configuration } from '../configuration/configuration.ts';
import type { Rest } from './rests/rest.ts';
import { accountOf, type HealthCandidate } from './targets/target.ts';

/** What a rest depends on in the configuration. */
export interface ChannelSettings {
  /** A hash of the address and the key of a candidate's account, which shows whether they have changed. */
  of(candidate: HealthCandidate): string;
  /**
   * Whether a rest that the gateway began holds here: not for a channel or an account that is gone, has another key, or never rests.
   */
  isCurrent(rest: Pick<Rest, 'channel' | 'account' | 'settings'>): boolean;
}

const HASH_BYTES = 12;

/**
 * All replicas must find the same hash, and some share no secret but the channel's own. It is slow, some 40
 * ms, so that a reader of Redis cannot try short keys. It is only needed if a provider refused the key.
 */
const hashOf = ({ name, origin }: Channel, { secrets: { headers, auth } }: Account): string => {
  const settings = auth === null ? headers : [headers, auth];
  return scryptSync(JSON.stringify(settings), `${name}\n${origin}`, HASH_BYTES).toString('base64url');
};

export const createChannelSettings = (configuration: () => Configuration): ChannelSettings => {
  const hashes = new WeakMap<Account, string>();

  /** Empty for an account that the channel does not have. */
  const knownHashOf = (channel: Channel | undefined, accountName: string | null): string => {
    const account = channel?.accounts.find(({ name }) => name === accountName);
    if (channel === undefined || account === undefined) return '';
    const hash = hashes.get(account) ?? hashOf(channel, account);
    hashes.set(account, hash);
    return hash;
  };

  return {
    of: (candidate) =>
      knownHashOf(configuration().channels.get(candidate.channel.name), accountOf(candidate)),
    isCurrent(rest) {
      const channel = configuration().channels.get(rest.channel);
      if (channel === undefined || channel.cooldown === null) return false;
      if (rest.account !== null && !channel.accounts.some(({ name }) => name === rest.account)) return false;
      return rest.settings === null || rest.settings === knownHashOf(channel, rest.account);
    },
  };
};
