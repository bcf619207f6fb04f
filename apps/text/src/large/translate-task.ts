import { translateRequest } from '../conversion/translate-request.ts';
import { countedBody } from '../endpoints/counting/count-endpoint.ts';
import type { FetchedMedia, WantedMedia } from '../neutral/encoding/named-media.ts';
import type { AnswerPlan, Target } from '../neutral/target.ts';
import { continueTurn } from '../protocols/messages/reply/paused-turn.ts';
import { UPSTREAMS } from '../protocols/protocols.ts';
import { echoOf, shortEcho } from '../protocols/responses/reply/response-object.ts';
import { effectiveBody } from '../translation/effective-body.ts';
import { objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { opaqueTokens, type TokenKey } from '../wire/tokens/opaque-token.ts';
import { type DroppedList, droppedList } from './dropped.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

export interface TranslateTask {
  readonly caller: TextProtocol;
  readonly bytes: Uint8Array;
  readonly target: Target;
  readonly tokens: TokenKey;
  readonly fetched?: ReadonlyMap<string, FetchedMedia> | undefined;
}

export interface WrittenTranslation {
  readonly bytes: Uint8Array;
  readonly dropped: DroppedList;
  readonly wanted: readonly WantedMedia[];
  readonly plan: Omit<AnswerPlan, 'echo'>;
  /** As JSON: its numbers may be longer than JavaScript's. */
  readonly echo: string;
}

/** Writes the body of a request for an upstream that speaks another protocol. @throws {GatewayError} as `translateRequest` */
export function translateTask({ caller, bytes, target, tokens, fetched }: TranslateTask): WrittenTranslation {
  const parsed = parseBody(bufferOf(bytes).toString());
  const body = target.countsOnly ? countedBody(caller, parsed) : effectiveBody(caller, parsed);
  const {
    plan,
    dropped,
    wanted,
    body: written,
  } = translateRequest({ caller, body, target, tokens: opaqueTokens(tokens), fetched });
  const { echo, ...rest } = plan;
  return {
    bytes: sharedText(
      JSON.stringify(
        target.countsOnly ? UPSTREAMS[target.protocol].counting.bodyOf(written, target) : written,
      ),
    ),
    dropped: droppedList(dropped),
    wanted,
    plan: rest,
    echo: JSON.stringify(shortEcho(echo)),
  };
}

export interface ContinueTask {
  /** Of a request in the Messages protocol. */
  readonly bytes: Uint8Array;
  /** What its answer has so far, as JSON. */
  readonly content: string;
}

/** The body of the request that lets a paused answer go on. */
export function continueTask({ bytes, content }: ContinueTask): Uint8Array {
  const request = objectOf(parseBody(bufferOf(bytes).toString()));
  const blocks = parseBody(content);
  return sharedText(JSON.stringify(continueTurn(request, Array.isArray(blocks) ? blocks.map(objectOf) : [])));
}

/** The members of a Responses request that its response repeats, as JSON. */
export const echoTask = ({ bytes }: { readonly bytes: Uint8Array }): string =>
  JSON.stringify(shortEcho(echoOf(parseBody(bufferOf(bytes).toString()))));
