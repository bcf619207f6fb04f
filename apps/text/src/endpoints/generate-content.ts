import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import { paramsOf, pathOf } from '@gateway/contracts/endpoints/path-table';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Caller } from '@gateway/model-service/caller';
import { addressIn } from '../call/request/address.ts';
import { queryOf } from '../call/request/request-head.ts';
import type { TextServices } from '../call/request/text-call.ts';
import { GEMINI } from '../call/request/text-endpoint.ts';
import { createGenerateHandler } from './generate.ts';
import { JsonArrayCaller } from './json-array-caller.ts';

/** Handles `:generateContent` and `:streamGenerateContent`, whose models are in their paths. */
export function createContentHandler(
  { path, streams }: Pick<Endpoint, 'path'> & { readonly streams: boolean },
  services: TextServices,
): (incoming: IncomingMessage, caller: Caller, entry: PendingEntry | undefined) => Promise<void> {
  const generate = createGenerateHandler(GEMINI, services);
  return (incoming, caller, entry) => {
    const address = addressIn(paramsOf({ path }, pathOf(incoming.url ?? '/')), streams);
    const isEvents = new URLSearchParams(queryOf(incoming)).get('alt') === 'sse';
    return generate(incoming, streams && !isEvents ? new JsonArrayCaller(caller) : caller, entry, address);
  };
}
