import type { Account } from '../configuration/configuration.ts';
import type { Protocol } from '../protocol.ts';
import type { Upstream } from '../upstream.ts';
import type { BatchPlace } from './answered-upstream.ts';
import type { BatchApi } from './batch-api.ts';
import { openBatchApi } from './open-batch-api.ts';

/**
 * The batches of an account as it is configured at each call: a provider may be at work for longer than its credentials last. One that is
 * no longer configured, or no longer does batches, is asked as it was. Null where it is not configured at first.
 */
export function openCurrentBatches(
  upstream: Pick<Upstream, 'configuration'>,
  { channel: channelName, account: accountName, batches }: BatchPlace,
  protocol: Protocol,
): BatchApi | null {
  const opened: { readonly account: Account; readonly api: BatchApi }[] = [];
  const current = (): BatchApi | null => {
    const last = opened.at(-1);
    const channel = upstream.configuration.channels.get(channelName);
    const account = channel?.accounts.find(({ name }) => name === accountName);
    if (channel === undefined || account === undefined || account === last?.account) return last?.api ?? null;
    const api = openBatchApi({ ...channel, batches: channel.batches ?? batches }, account, protocol);
    if (api === null) return last?.api ?? null;
    opened.push({ account, api });
    return api;
  };
  const first = current();
  if (first === null) return null;
  const now = (): BatchApi => current() ?? first;
  return {
    ...first,
    upload: (...asked) => now().upload(...asked),
    dropUpload: (...asked) => now().dropUpload(...asked),
    create: (...asked) => now().create(...asked),
    find: (...asked) => now().find(...asked),
    look: (...asked) => now().look(...asked),
    cancel: (...asked) => now().cancel(...asked),
    results: (...asked) => now().results(...asked),
    remove: (...asked) => now().remove(...asked),
    // Results may be on their way by the one before.
    close: async () => void (await Promise.all(opened.map(({ api }) => api.close()))),
  };
}
