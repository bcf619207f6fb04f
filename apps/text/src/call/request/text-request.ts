import { GatewayError } from '@gateway/contracts/gateway-error';
import { readSchema } from '@gateway/contracts/json/read-schema';
import { echoedLength, promptsIn, tokenPromptLength } from '@gateway/contracts/openai/completions';
import { validate } from '@gateway/service-kit/request/validate';
import type { Dropped } from '../../neutral/losses.ts';
import { type NamedId, namedIds } from '../../stored/origins/named-ids.ts';
import { isObject, type JsonObject } from '../../wire/json-object.ts';
import { mayLosePrecision, parseBody } from '../../wire/raw-json.ts';
import { conversationKeyIn, endUserIn } from './conversation-key.ts';
import { type OutputBound, outputBound } from './output-bound.ts';
import { checkBounds } from './request-bounds.ts';
import { type RequestedCompaction, requestedCompaction } from './requested-compaction.ts';
import { requestedTiers } from './requested-tiers.ts';
import { type RequestedTool, requestedTools } from './requested-tools.ts';
import type { TextBody, TextEndpoint } from './text-endpoint.ts';
import { type UnsizedInput, unsizedInput } from './unsized-input.ts';

/**
 * A validated request: its bytes, and what the gateway itself uses. The parsed content is not kept beyond its first
 * use, because a long conversation weighs several times as much as objects, for as long as its answer takes.
 */
export interface TextRequest {
  readonly bytes: Buffer;
  /** In bytes. In a message thread it is the whole conversation, although the provider may get one turn only. */
  readonly inputLength: number;
  readonly content: RequestContent;
  /** What is sent of it where that is too large for the event loop: the thread reads and writes it. */
  readonly large: LargeBody | null;
  /**
   * Null: the request is sent as it came. Otherwise the earlier items replace the ids that it names, except for items that
   * another provider sealed.
   */
  readonly rewritten: {
    readonly dropped: readonly Dropped[];
    /** The number of stored items in the input. They precede the caller's own. */
    readonly keptItems?: number;
  } | null;
  /** The error of a value that only another maker's server may know; null: every value is the protocol's own. */
  readonly ownValue: GatewayError | null;
  readonly model: string;
  readonly streamed: boolean;
  /** Chat: what the caller requests to be in a stream, such as its usage. */
  readonly streamOptions: JsonObject | null;
  readonly stored: boolean;
  /** The request sets `store: true` itself, and does not leave it to the protocol's default. */
  readonly setsStore: boolean;
  readonly background: boolean;
  /** The ids from earlier replies that this request names. */
  readonly ids: readonly NamedId[];
  /** Messages: the request begins a stored conversation, or continues one. */
  readonly thread: 'create' | 'continue' | null;
  /** Messages: a later request may name this one's reply. */
  readonly storesMessage: boolean;
  /** The key of its conversation, for `affinityOf`. */
  readonly conversationKey: string | null;
  /** Whom it was sent for. */
  readonly endUser: string | null;
  readonly output: OutputBound;
  readonly unsized: UnsizedInput;
  /** See `requestedTiers`. */
  readonly tiers: readonly string[] | null;
  /** Null where no member concerns compactions. */
  readonly compaction: RequestedCompaction | null;
  readonly builtInTools: readonly RequestedTool[];
  /** `tool_choice` is an object: it names tools, not only whether to use any. */
  readonly choosesTool: boolean;
  /** Messages: the answer has to be in a form that a schema gives. */
  readonly hasOutputFormat: boolean;
}

/** A body that is read in the thread only. */
export interface LargeBody {
  /** Shared with the thread. */
  readonly bytes: Buffer;
  /** Whether it can hold tokens of the gateway's own. */
  readonly mayHoldTokens: boolean;
}

/** Describes the content of a body. @throws {GatewayError} for one that is not what the endpoint takes */
export function describeRequest(endpoint: TextEndpoint, bytes: Buffer, value: unknown): TextRequest {
  const { protocol, operation } = endpoint;
  if (isObject(value)) checkBounds(value);
  const { body, ownValue } = readBody(endpoint, value);
  const { thread, diagnostics } = body;
  const members = isObject(value) ? value : {};
  return {
    bytes,
    inputLength: (operation === 'completions' ? tokenPromptLength(members) : null) ?? bytes.length,
    content: new BodyContent(bytes, value),
    large: null,
    rewritten: null,
    ownValue,
    model: body.model,
    streamed: body.stream === true,
    streamOptions: isObject(body.stream_options) ? body.stream_options : null,
    stored: body.store !== false,
    setsStore: body.store === true,
    background: protocol === 'responses' && body.background === true,
    ids: isObject(value) ? boundedIds(protocol, value) : [],
    thread: protocol === 'messages' ? (thread?.type ?? null) : null,
    storesMessage: protocol === 'messages' && Boolean(thread ?? diagnostics),
    conversationKey: isObject(value) ? conversationKeyIn(protocol, value) : null,
    endUser: isObject(value) ? endUserIn(protocol, value) : null,
    output: boundOf(endpoint, members),
    unsized: unsizedInput(protocol, members),
    tiers: requestedTiers(members),
    compaction: isObject(value) ? requestedCompaction(operation, value) : null,
    builtInTools: requestedTools(protocol, body),
    choosesTool: isObject(body.tool_choice),
    hasOutputFormat: protocol === 'messages' && hasFormat(members),
  };
}

/** A completion has answers to each of its prompts. */
function boundOf({ operation, protocol }: TextEndpoint, members: JsonObject): OutputBound {
  const bound = outputBound(protocol, members);
  if (operation !== 'completions') return bound;
  return {
    ...bound,
    answers: bound.answers * promptsIn(members),
    ...(members.echo === true && { echoedLength: echoedLength(members) }),
  };
}

const hasFormat = ({ output_config: config, output_format: format }: JsonObject): boolean =>
  isObject(format) || (isObject(config) && isObject(config.format));

/** A body by its endpoint's own schema, else by that of compatible servers. @throws {GatewayError} */
function readBody(
  { schema, compatible }: TextEndpoint,
  value: unknown,
): { readonly body: TextBody; readonly ownValue: GatewayError | null } {
  try {
    return { body: validate(schema, value), ownValue: null };
  } catch (error) {
    const read =
      error instanceof GatewayError && compatible !== null ? readSchema(compatible, value) : undefined;
    if (read === undefined || !(error instanceof GatewayError)) throw error;
    return { body: read.data, ownValue: error };
  }
}

/** The parsed content of a body. */
export interface RequestContent {
  /** Parsed by `parseBody`, which keeps long numbers. Each call returns an object of its own. */
  take(): unknown;
  /** For a request whose bytes are passed on. */
  release(): void;
  /** As it was parsed when it was checked; undefined once that was taken or released. Long numbers may have lost digits. */
  readonly checked?: unknown;
}

/** The content of a body that was checked elsewhere. */
export const contentOf = (bytes: Buffer): RequestContent => new BodyContent(bytes, undefined);

/** The content of a body's bytes, from the parsing that checked them until a reader takes it. */
class BodyContent implements RequestContent {
  readonly #bytes: Buffer;
  #checked: unknown;

  constructor(bytes: Buffer, checked: unknown) {
    this.#bytes = bytes;
    this.#checked = checked;
  }

  take(): unknown {
    const checked = this.#checked;
    this.release();
    const isExact = checked !== undefined && !mayLosePrecision(this.#bytes.toString('latin1'));
    return isExact ? checked : parseBody(this.#bytes.toString());
  }

  get checked(): unknown {
    return this.#checked;
  }

  release(): void {
    this.#checked = undefined;
  }
}

/** All named ids are looked up in one step. */
const MAX_NAMED_IDS = 5000;

function boundedIds(protocol: TextEndpoint['protocol'], body: JsonObject): readonly NamedId[] {
  const ids = namedIds(protocol, body);
  if (ids.length <= MAX_NAMED_IDS) return ids;
  throw new GatewayError(
    'array_above_max_length',
    `The request names ${ids.length} earlier items by their ids; at most ${MAX_NAMED_IDS} are looked up. Use 'previous_response_id' instead.`,
  );
}
