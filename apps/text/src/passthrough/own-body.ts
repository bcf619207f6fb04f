import { offersTool } from '@gateway/contracts/tools/built-in-tools';
import type { Candidate } from '@gateway/upstream/candidate';
import { targetOf } from '../call/candidates/target-of.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import type { RequestedTool } from '../call/request/requested-tools.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { lostStore } from '../call/storing/store-response.ts';
import { type Dropped, refuseTool } from '../neutral/losses.ts';
import { isMadeAt } from '../stored/origins/maker.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import { demandOneTool } from './demand-one-tool.ts';
import { replaceModel, setMember } from './replace-member.ts';
import { mayHoldTokens, restoreTokens } from './restore-tokens.ts';

interface OwnBody {
  readonly body: Buffer | string;
  readonly dropped: readonly Dropped[];
}

interface OwnBodyOptions {
  readonly streamOptions: JsonObject | null;
  /** The channel has refused earlier reasoning as not its own. */
  readonly withholdsThoughts: boolean;
}

/**
 * What a channel of the caller's own protocol gets: the caller's bytes, with the channel's name for the model, and with
 * `stream_options` where the gateway has its own. They are parsed and rewritten only where they hold what is not for
 * this channel: reasoning that another vendor sealed and the gateway put into a token, a built-in tool that the configuration lets
 * it leave out, a tool choice that it would ignore, or ids that it does not know.
 *
 * @throws {GatewayError} `unsupported_tool` where the request depends on a tool that would be left out
 */
export function ownBody(
  call: TextCall,
  candidate: Candidate,
  { streamOptions, withholdsThoughts }: OwnBodyOptions,
): OwnBody {
  const { request, model } = call;
  const { bytes, builtInTools } = request;
  const missing = builtInTools.filter(({ family }) => !offersTool(candidate.route.builtInTools, family));
  const target = { ...targetOf(candidate, model), withholdReasoning: withholdsThoughts };
  const strangers = unknownThoughts(call, candidate);
  const isUnstored = call.history.storing === 'refused';
  const isNameless = !target.quirks.namedToolChoice && request.choosesTool;
  const refused = lostStore(call);
  const isAmended = withholdsThoughts || strangers.size > 0;
  if (
    missing.length === 0 &&
    !isNameless &&
    request.rewritten === null &&
    !isAmended &&
    !mayHoldTokens(bytes)
  ) {
    const named = candidate.model === request.model ? bytes : replaceModel(bytes, candidate.model);
    const optioned = streamOptions === null ? named : setMember(named, 'stream_options', streamOptions);
    const written = isUnstored ? setMember(optioned, 'store', false) : optioned;
    request.content.release();
    return { body: written, dropped: refused };
  }
  const parsed = request.content.take();
  if (!isJsonObject(parsed)) throw new Error('a checked body that is no object');
  const { body, dropped } = restoreTokens(parsed, target, tokensOf(call), strangers);
  const offering = withoutTools(body, missing);
  const demanding = isNameless ? demandOneTool(offering, target.protocol) : offering;
  const written = JSON.stringify({
    ...demanding,
    model: candidate.model,
    ...(streamOptions && { stream_options: streamOptions }),
    ...(isUnstored && { store: false }),
  });
  const lost = missing.map(({ path }) => ({ path, reason: 'the tool is not available for this model' }));
  const left = request.rewritten?.dropped ?? [];
  return { body: written, dropped: [...left, ...dropped, ...lost, ...refused] };
}

const NO_IDS: ReadonlySet<string> = new Set();

/**
 * The ids of reasoning that comes without its content, and that this channel has not made: it would look them up. The
 * gateway gives such ids to the thoughts of other protocols' models.
 */
function unknownThoughts({ request, history }: TextCall, candidate: Candidate): ReadonlySet<string> {
  if (candidate.protocol !== 'responses' || request.ids.length === 0) return NO_IDS;
  const ids = request.ids.flatMap(({ kind, need, id }, index) => {
    if (kind !== 'item' || need !== 'preferred') return [];
    const origin = history.origins[index];
    return typeof origin === 'object' && isMadeAt(origin, candidate) ? [] : [id];
  });
  return new Set(ids);
}

function withoutTools(body: JsonObject, missing: readonly RequestedTool[]): JsonObject {
  const [first] = missing;
  if (first === undefined || !Array.isArray(body.tools)) return body;
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
