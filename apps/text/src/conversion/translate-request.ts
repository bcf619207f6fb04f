import type { Conversation } from '../neutral/conversation.ts';
import { type FetchedMedia, NamedMedia, type WantedMedia } from '../neutral/encoding/named-media.ts';
import { type Dropped, Losses } from '../neutral/losses.ts';
import { pathsOf } from '../neutral/scalar-paths.ts';
import type { AnswerPlan, Target } from '../neutral/target.ts';
import type { NamedTool, Tool } from '../neutral/tool.ts';
import { ToolNames } from '../neutral/tool-names.ts';
import { PROTOCOLS, UPSTREAMS } from '../protocols/protocols.ts';
import { echoOf } from '../protocols/responses/reply/response-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';
import { emulateDemand, emulateOutputFormat } from './output-emulation.ts';

export interface RequestToTranslate {
  readonly caller: TextProtocol;
  /**
   * The caller's request in effective form (earlier turns and references expanded), parsed with `parseBody` so that
   * long numbers in tool arguments survive.
   */
  readonly body: unknown;
  readonly target: Target;
  readonly tokens: OpaqueTokens;
  /** What it names by URL, as far as it was fetched. Absent: nothing is fetched, and an upstream that needs it refuses. */
  readonly fetched?: ReadonlyMap<string, FetchedMedia> | undefined;
}

export interface TranslatedRequest {
  /** For `JSON.stringify`, and for nothing else: it may hold preserved numbers. */
  readonly body: { readonly [member: string]: unknown };
  /** What had to be left out; see `droppedHeader` and `refuseLosses`. */
  readonly dropped: readonly Dropped[];
  /** What must be fetched first, and the request translated again. */
  readonly wanted: readonly WantedMedia[];
  /** Needed to translate the answer. */
  readonly plan: AnswerPlan;
}

/**
 * Writes a caller's request in the words of an upstream that speaks another protocol.
 * @throws GatewayError where something would be lost that must not be (`unsupported_parameter`, `unsupported_tool`), or
 * where the request is no proper one
 */
export function translateRequest({
  caller,
  body,
  target,
  tokens,
  fetched,
}: RequestToTranslate): TranslatedRequest {
  const losses = new Losses();
  const media = new NamedMedia(fetched ?? null);
  const decoded = withTurn(PROTOCOLS[caller].decodeRequest(body, tokens));
  const { conversation: emulated, answerTool } = withDemand(decoded, target, losses);
  const conversation = target.quirks.namedToolChoice ? emulated : demandOneTool(emulated);
  const adapter = UPSTREAMS[target.protocol];
  const names = new ToolNames(target.quirks.toolNameLength ?? adapter.toolNameLength, {
    beginsWithLetter: adapter.toolNamesBeginWithLetter,
  });
  const encoded = adapter.encodeRequest({ conversation, target, losses, names, media });
  const request = isJsonObject(body) ? body : {};
  const include = Array.isArray(request.include) ? request.include : [];
  const streamOptions = request.stream_options;
  return {
    body: encoded.body,
    dropped: losses.dropped,
    wanted: media.wanted,
    plan: {
      caller,
      target,
      model: typeof request.model === 'string' ? request.model : target.model,
      restore: { tools: names.renamed, stopSequences: encoded.stopSequences, answerTool },
      stream: conversation.stream,
      ...(encoded.streamed === false && { answeredWhole: true }),
      mayPause:
        target.protocol === 'messages' && conversation.tools.some(({ type }) => type === 'web-search'),
      echo: caller === 'responses' ? echoOf(request) : {},
      showSources: include.includes('web_search_call.action.sources'),
      showEncryptedReasoning: include.includes('reasoning.encrypted_content'),
      usedCallIds: callIdsOf(conversation),
      ...(caller === 'gemini' && conversation.reasoning.summary === undefined && { hidesThoughts: true }),
      showUsage: isJsonObject(streamOptions) && streamOptions.include_usage === true,
    },
  };
}

/** The output's form and a demanded call, in the ways that the upstream has for them. */
function withDemand(conversation: Conversation, target: Target, losses: Losses) {
  const emulated = emulateOutputFormat(conversation, target, losses);
  if (target.quirks.demandedCalls) return emulated;
  const { toolChoice, outputFormat } = pathsOf(conversation);
  return emulateDemand(emulated, emulated.answerTool === null ? toolChoice : outputFormat, losses);
}

/**
 * A request that is nothing but instructions: they become the user's turn, since most providers want one to answer.
 */
function withTurn(conversation: Conversation): Conversation {
  const { system, turns } = conversation;
  const [first] = system;
  if (first === undefined || turns.some(({ parts }) => parts.length > 0)) return conversation;
  return { ...conversation, system: [], turns: [{ role: 'user', parts: system, at: first.at ?? [] }] };
}

const callIdsOf = ({ turns }: Conversation): readonly string[] =>
  turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])));

/**
 * For servers that ignore a choice that names one tool: only that tool is offered, and a call is required. A choice that
 * names no offered function stays as it is.
 */
export function demandOneTool(conversation: Conversation): Conversation {
  const { toolChoice, tools } = conversation;
  if (toolChoice?.type !== 'tool') return conversation;
  const named = tools.filter((tool) => isNamed(tool, toolChoice.tool));
  return named.length === 0
    ? conversation
    : { ...conversation, tools: named, toolChoice: { type: 'required' } };
}

const isNamed = (tool: Tool, { name, namespace }: NamedTool): boolean =>
  (tool.type === 'function' || tool.type === 'custom') && tool.name === name && tool.namespace === namespace;
