import type { IncomingMessage } from 'node:http';
import { DRAFT_HEADER } from '@gateway/contracts/identity';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Caller } from '@gateway/model-service/caller';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import type { TextServices } from '../../call/request/text-call.ts';
import { RESPONSES } from '../../call/request/text-endpoint.ts';
import { createGenerateHandler, type GenerateHandler } from '../generate.ts';
import type { OpenDraft } from './open-draft.ts';

/** Sends a request by the draft of the configuration that its identity names. It differs from others in where its channels and prices come from. */
export const takesDrafts =
  (
    handle: GenerateHandler,
    { services, openDraft }: { readonly services: TextServices; readonly openDraft: OpenDraft },
  ): GenerateHandler =>
  (incoming, caller, entry, address) => {
    const { draft } = identityOf(incoming);
    return draft === undefined
      ? handle(incoming, caller, entry, address)
      : sendByDraft({ id: draft, incoming, caller, entry }, { services, openDraft });
  };

interface DraftRequest {
  readonly id: string;
  readonly incoming: IncomingMessage;
  readonly caller: Caller;
  readonly entry: PendingEntry | undefined;
}

async function sendByDraft(
  { id, incoming, caller, entry }: DraftRequest,
  { services, openDraft }: { readonly services: TextServices; readonly openDraft: OpenDraft },
): Promise<void> {
  contextOf(incoming).line.draft = true;
  caller.note(DRAFT_HEADER, 'true');
  const upstream = await openDraft(id);
  try {
    await createGenerateHandler(RESPONSES, { ...services, upstream })(incoming, caller, entry);
  } finally {
    await upstream.destroy();
  }
}
