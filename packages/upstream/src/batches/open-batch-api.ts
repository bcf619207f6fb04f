import type { Price } from '@gateway/contracts/models/price';
import type { Account, Channel } from '../configuration/configuration.ts';
import { scaledPrice } from '../prices/scaled-price.ts';
import type { Protocol } from '../protocol.ts';
import { openAnthropicBatches } from './anthropic-batches.ts';
import type { BatchApi, BatchForm } from './batch-api.ts';
import { openOpenaiBatches } from './openai-batches.ts';

/** In whose form a provider takes lines of a protocol. */
const FORMS: Readonly<Partial<Record<Protocol, BatchForm>>> = {
  chat: 'openai',
  responses: 'openai',
  messages: 'anthropic',
  embeddings: 'openai',
  moderations: 'openai',
};

/** Whether batches of a protocol go to the channel's provider. */
export const takesBatches = ({ batches }: Pick<Channel, 'batches'>, protocol: Protocol): boolean => {
  const form = FORMS[protocol];
  return batches !== null && form !== undefined && batches.paths[form] !== undefined;
};

/** The batches of an account at its provider; null where it takes none of this protocol. */
export function openBatchApi(channel: Channel, account: Account, protocol: Protocol): BatchApi | null {
  const { openai, anthropic } = channel.batches?.paths ?? {};
  const form = FORMS[protocol];
  if (form === 'openai' && openai !== undefined) return openOpenaiBatches(channel, account, openai);
  if (form === 'anthropic' && anthropic !== undefined)
    return openAnthropicBatches(channel, account, anthropic);
  return null;
}

/** The tier whose prices are those of batches, where a price has them. */
const BATCH_TIER = 'batch';

/** A price for what is done in a provider's batch: its own, else a part of the usual one. Tools cost what they always do. */
export function batchPrice(price: Price, factor: number): Price {
  const own = price.serviceTiers?.[BATCH_TIER];
  if (own !== undefined) {
    const { longContext, ...usual } = own;
    const long = price.longContext && { longContext: { ...price.longContext, ...longContext } };
    return { ...price, ...usual, ...long };
  }
  const { perThousandToolCalls } = price;
  return { ...scaledPrice(price, factor), ...(perThousandToolCalls && { perThousandToolCalls }) };
}
