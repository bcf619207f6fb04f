import type { IncomingMessage } from 'node:http';
import { readJsonBody } from '@gateway/service-kit/json-body';
import { validate } from '@gateway/service-kit/validate';
import { type AskedTool, askedTools } from './asked-tools.ts';
import { isObject, type JsonObject } from './json-object.ts';
import type { TextEndpoint } from './text-endpoint.ts';

/**
 * A validated request: its bytes, and what the gateway itself acts on. What the bytes say is not kept, because a long
 * conversation weighs several times as much as objects, for as long as its answer takes.
 */
export interface TextRequest {
  readonly bytes: Buffer;
  readonly model: string;
  readonly streamed: boolean;
  /** Chat: what the caller wants to see in a stream, its usage for one. */
  readonly streamOptions: JsonObject | null;
  readonly stored: boolean;
  readonly previousResponseId: string | null;
  /** Null where the request leaves it to the model. */
  readonly maxOutputTokens: number | null;
  readonly builtInTools: readonly AskedTool[];
}

/** @throws {GatewayError} for a body that cannot be read, or that is not what the endpoint takes */
export async function readTextRequest(
  { schema, protocol }: TextEndpoint,
  message: IncomingMessage,
  maxBytes: number,
): Promise<TextRequest> {
  const { bytes, value } = await readJsonBody(message, { maxBytes });
  const body = validate(schema, value);
  const previous = body.previous_response_id;
  const bound = body.max_output_tokens ?? body.max_completion_tokens ?? body.max_tokens;
  return {
    bytes,
    model: body.model,
    streamed: body.stream === true,
    streamOptions: isObject(body.stream_options) ? body.stream_options : null,
    stored: body.store !== false,
    previousResponseId: typeof previous === 'string' ? previous : null,
    maxOutputTokens: typeof bound === 'number' ? bound : null,
    // Chat Completions has none: what it calls web search is a member of its own.
    builtInTools: protocol === 'chat' ? [] : askedTools(protocol, body),
  };
}
