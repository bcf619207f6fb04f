import { offersTool } from '@gateway/contracts/tools/built-in-tools';
import type { Candidate } from '@gateway/upstream/candidate';
import { targetOf } from '../call/candidates/target-of.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { withoutAddress } from '../call/request/address.ts';
import { type TextCall, waitingFor } from '../call/request/text-call.ts';
import type { LargeBody } from '../call/request/text-request.ts';
import { lostStore } from '../call/storing/store-response.ts';
import { allDropped } from '../large/dropped.ts';
import { inThread } from '../large/in-thread.ts';
import { bufferOf } from '../large/shared-bytes.ts';
import type { Dropped } from '../neutral/losses.ts';
import { isMadeAt } from '../stored/origins/maker.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { fitOf, mayNotFit } from './fit-body.ts';
import { mayHoldTokens } from './restore-tokens.ts';
import { changesNothing, type OwnChanges, replaceOwnMembers, rewriteOwnBody } from './write-own-body.ts';

export interface OwnBody {
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
  options: OwnBodyOptions,
): OwnBody | Promise<OwnBody> {
  const { request } = call;
  const { bytes, content, large, rewritten } = request;
  const changes = ownChanges(call, candidate, options);
  const others = lostStore(call);
  const left = [...(rewritten?.dropped ?? []), ...others];
  if (changesNothing(changes)) {
    content.release();
    const body = isAddressed(call)
      ? withoutAddress(bytes, { model: request.model, stream: request.streamed })
      : bytes;
    return { body, dropped: left };
  }
  if (large !== null) return writeInThread(call, large, changes, left);
  if (changes.rewriting === null) {
    content.release();
    return { body: replaceOwnMembers(bytes, changes), dropped: left };
  }
  const { body, dropped } = rewriteOwnBody(content.take(), changes, changes.rewriting, tokensOf(call));
  return { body, dropped: [...(rewritten?.dropped ?? []), ...dropped, ...others] };
}

/** Whether the model is in the request's path, at the provider too. */
const isAddressed = ({ endpoint }: TextCall): boolean => endpoint.protocol === 'gemini';

function ownChanges(
  call: TextCall,
  candidate: Candidate,
  { streamOptions, withholdsThoughts }: OwnBodyOptions,
): OwnChanges {
  const { endpoint, request, model, history } = call;
  const { bytes, builtInTools, large } = request;
  const missing = builtInTools.filter(({ family }) => !offersTool(candidate.route.builtInTools, family));
  const target = { ...targetOf(candidate, model), withholdReasoning: withholdsThoughts };
  const strangers = unknownThoughts(call, candidate);
  const isNameless = !target.quirks.namedToolChoice && request.choosesTool;
  const fit = fitOf(target.quirks);
  const isUnfit = fit !== null && mayNotFit(large?.bytes ?? bytes, fit);
  const isUnstored = endpoint.operation === 'responses' && target.quirks.unstoredResponses && request.stored;
  const isRewritten =
    isUnfit ||
    isUnstored ||
    missing.length > 0 ||
    isNameless ||
    request.rewritten !== null ||
    withholdsThoughts ||
    strangers.size > 0 ||
    (large?.mayHoldTokens ?? mayHoldTokens(bytes, endpoint.protocol));
  return {
    model: isAddressed(call) || candidate.model === request.model ? null : candidate.model,
    streamOptions,
    setsUnstored: history.storing === 'refused',
    rewriting: isRewritten
      ? {
          protocol: endpoint.protocol,
          target,
          missing,
          isNameless,
          unknownThoughts: strangers,
          fit: isUnfit ? fit : null,
          isUnstored,
        }
      : null,
  };
}

async function writeInThread(
  call: TextCall,
  { bytes }: LargeBody,
  changes: OwnChanges,
  others: readonly Dropped[],
): Promise<OwnBody> {
  const task = { bytes, changes, tokens: tokensOf(call).key };
  const written = await inThread('own', task, waitingFor(call));
  return { body: bufferOf(written.bytes), dropped: [...others, ...allDropped(written.dropped)] };
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
