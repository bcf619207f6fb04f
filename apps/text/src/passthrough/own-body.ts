import { offersTool } from '@gateway/contracts/tools/built-in-tools';
import type { Candidate } from '@gateway/upstream/candidate';
import { targetOf } from '../call/candidates/target-of.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { lostStore } from '../call/keeping/keep-response.ts';
import type { RequestedTool } from '../call/request/requested-tools.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { type Dropped, refuseTool } from '../conversation/losses.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import { demandOneTool } from './demand-one-tool.ts';
import { replaceModel, setMember } from './replace-member.ts';
import { mayHoldTokens, restoreTokens } from './restore-tokens.ts';

interface OwnBody {
  readonly body: Buffer | string;
  readonly dropped: readonly Dropped[];
}

/**
 * What a channel of the caller's own protocol gets: the caller's bytes, with the channel's name for the model, and with
 * `stream_options` where the gateway has its own. They are read and written anew only where they hold what is not for
 * this channel: reasoning that another vendor sealed and the gateway put into a token, a built-in tool that the configuration lets
 * it leave out, a tool choice that it would ignore, or ids that it does not know.
 *
 * @throws {GatewayError} `unsupported_tool` where the request depends on a tool that would be left out
 */
export function ownBody(call: TextCall, candidate: Candidate, streamOptions: JsonObject | null): OwnBody {
  const { request, model } = call;
  const { bytes, builtInTools } = request;
  const missing = builtInTools.filter(({ family }) => !offersTool(candidate.route.builtInTools, family));
  const target = targetOf(candidate, model);
  const isUnstored = call.history.storing === 'refused';
  const isNameless = !target.quirks.namedToolChoice && request.choosesTool;
  const refused = lostStore(call);
  if (missing.length === 0 && !isNameless && request.rewritten === null && !mayHoldTokens(bytes)) {
    const named = candidate.model === request.model ? bytes : replaceModel(bytes, candidate.model);
    const optioned = streamOptions === null ? named : setMember(named, 'stream_options', streamOptions);
    const written = isUnstored ? setMember(optioned, 'store', false) : optioned;
    request.content.release();
    return { body: written, dropped: refused };
  }
  const parsed = request.content.take();
  if (!isJsonObject(parsed)) throw new Error('a checked body that is no object');
  const { body, dropped } = restoreTokens(parsed, target, tokensOf(call));
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
