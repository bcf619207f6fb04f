import type { RequestedTool } from '../call/request/requested-tools.ts';
import { type Dropped, refuseTool } from '../neutral/losses.ts';
import type { Target } from '../neutral/target.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import { replaceModel, setMember } from '../wire/replace-member.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';
import { demandOneTool } from './demand-one-tool.ts';
import { type Fit, fitBody } from './fit-body.ts';
import { restoreTokens } from './restore-tokens.ts';

/** What a channel of the caller's own protocol gets otherwise than the caller wrote it. */
export interface OwnChanges {
  /** Null: the caller's. */
  readonly model: string | null;
  /** Null: the caller's. */
  readonly streamOptions: JsonObject | null;
  readonly setsUnstored: boolean;
  /** Null: all else stays as its bytes are. */
  readonly rewriting: Rewriting | null;
}

interface Rewriting {
  /** The caller's and the channel's. */
  readonly protocol: TextProtocol;
  readonly target: Target;
  /** Built-in tools that are left out. */
  readonly missing: readonly RequestedTool[];
  /** The channel ignores choices that name a tool. */
  readonly isNameless: boolean;
  /** The ids of reasoning that the channel would look up, and does not have. */
  readonly unknownThoughts: ReadonlySet<string>;
  /** Null: the channel takes its protocol as it is. */
  readonly fit: Fit | null;
  /** The channel is to store nothing of it. */
  readonly isUnstored: boolean;
}

export const changesNothing = ({ model, streamOptions, setsUnstored, rewriting }: OwnChanges): boolean =>
  model === null && streamOptions === null && !setsUnstored && rewriting === null;

/** A body with other members, each of the others as its bytes are. */
export function replaceOwnMembers(
  bytes: Buffer,
  { model, streamOptions, setsUnstored }: Omit<OwnChanges, 'rewriting'>,
): Buffer {
  const named = model === null ? bytes : replaceModel(bytes, model);
  const optioned = streamOptions === null ? named : setMember(named, 'stream_options', streamOptions);
  return setsUnstored ? setMember(optioned, 'store', false) : optioned;
}

/**
 * A body that is written again.
 *
 * @param parsed by `parseBody`
 * @throws {GatewayError} `unsupported_tool` where the request depends on a tool that would be left out
 */
export function rewriteOwnBody(
  parsed: unknown,
  { model, streamOptions, setsUnstored }: OwnChanges,
  { protocol, target, missing, isNameless, unknownThoughts, fit, isUnstored }: Rewriting,
  tokens: OpaqueTokens,
): { readonly body: string; readonly dropped: readonly Dropped[] } {
  if (!isJsonObject(parsed)) throw new Error('a checked body that is no object');
  const { body, dropped } = restoreTokens(parsed, protocol, target, tokens, unknownThoughts);
  const offering = withoutTools(body, missing);
  const demanding = isNameless ? demandOneTool(offering, protocol) : offering;
  const fitted = fit === null ? { body: demanding, dropped: [] } : fitBody(demanding, fit);
  const written = JSON.stringify({
    ...(protocol === 'gemini' ? withoutAddress(fitted.body) : fitted.body),
    ...(model !== null && { model }),
    ...(streamOptions && { stream_options: streamOptions }),
    ...(setsUnstored && { store: false }),
    ...(isUnstored && unstored(fitted.body)),
  });
  const lost = missing.map(({ path }) => ({ path, reason: 'the tool is not available for this model' }));
  return { body: written, dropped: [...dropped, ...fitted.dropped, ...lost] };
}

const ENCRYPTED = 'reasoning.encrypted_content';

/** What makes a response complete in itself. Models that do not reason refuse to include their reasoning. */
function unstored({ include, reasoning }: JsonObject): JsonObject {
  if (!isJsonObject(reasoning)) return { store: false };
  const included = Array.isArray(include) ? include : [];
  return { store: false, include: included.includes(ENCRYPTED) ? included : [...included, ENCRYPTED] };
}

function withoutTools(body: JsonObject, missing: readonly RequestedTool[]): JsonObject {
  const [first] = missing;
  if (first === undefined) return body;
  if (first.path.length > 2) return withoutGoogleTools(body, missing);
  if (!Array.isArray(body.tools)) return body;
  const gone = new Set(missing.map(({ path }) => path[1]));
  const dropped = body.tools.filter((_, index) => gone.has(index));
  const tools = body.tools.filter((_, index) => !gone.has(index));
  if (dependsOn(body.tool_choice, dropped, tools.length)) {
    refuseTool(first.path, `Tool '${first.type}' is not available for this model.`);
  }
  if (tools.length > 0) return { ...body, tools };
  const { tools: _, tool_choice: __, ...rest } = body;
  return rest;
}

/** Google's tools are members of an entry, which may have functions beside them. */
function withoutGoogleTools(body: JsonObject, missing: readonly RequestedTool[]): JsonObject {
  const given: readonly unknown[] = Array.isArray(body.tools) ? body.tools : [body.tools];
  const tools = given.flatMap((entry, index) => {
    if (!isJsonObject(entry)) return [entry];
    const gone = new Set(missing.filter(({ path }) => path[1] === index).map(({ type }) => type));
    const kept = Object.fromEntries(Object.entries(entry).filter(([name]) => !gone.has(name)));
    return Object.keys(kept).length === 0 ? [] : [kept];
  });
  const { tools: _, ...rest } = body;
  return tools.length === 0 ? rest : { ...rest, tools };
}

/** A body whose model and stream are in its path. */
const withoutAddress = ({ model: _, stream: __, ...body }: JsonObject): JsonObject => body;

/** Whether a choice names a tool that is gone, or demands a call where no tool is left. */
function dependsOn(choice: unknown, dropped: readonly unknown[], toolsLeft: number): boolean {
  if (choice === 'required') return toolsLeft === 0;
  if (!isJsonObject(choice)) return false;
  if (choice.type === 'any') return toolsLeft === 0;
  const isNamed = (tool: unknown) =>
    isJsonObject(tool) &&
    (tool.type === choice.type || (choice.type === 'tool' && tool.name === choice.name));
  return dropped.some(isNamed);
}
