import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import type { Conversation, Turn } from '../conversation.ts';
import { refuseParameter } from '../losses.ts';
import type { Part, ToolCallPart, ToolResultPart } from '../parts.ts';
import type { Target } from '../target.ts';
import type { Encoder } from './encoder.ts';
import { ResultQueues } from './result-queues.ts';

const isCall = (part: { type: string }): part is ToolCallPart => part.type === 'tool-call';
const isResult = (part: { type: string }): part is ToolResultPart => part.type === 'tool-result';

/**
 * The turns with every tool result directly after the turn that made the call, in the order of the calls and in a
 * user turn of its own. Responses allows results anywhere later; the other protocols do not. Calls of one id are paired
 * with their results in order and get ids of their own: providers refuse a history that has an id twice.
 * @throws GatewayError where a call has no result, or a result no call; the last turn's calls may wait where it is only counted
 */
export function settleTurns(
  { source, turns }: Conversation,
  { countsOnly = false }: Pick<Target, 'countsOnly'>,
): Turn[] {
  const parts = turns.flatMap((turn) => turn.parts);
  const results = parts.filter(isResult);
  const calls = parts.filter(isCall);
  if (results.length === 0 && calls.length === 0) return turns.filter((turn) => turn.parts.length > 0);

  const waiting = new ResultQueues(results);
  const ids = new HistoryIds(calls.map(({ id }) => id));
  const settled: Turn[] = [];
  for (const turn of turns) {
    const resultsOfTurn: ToolResultPart[] = [];
    const rest = turn.parts.flatMap((part): Part[] => {
      if (isResult(part)) return [];
      if (!isCall(part)) return [part];
      const mayWait = countsOnly && turn === turns.at(-1);
      const result = waiting.take(part.id) ?? (mayWait ? noResult(part) : null);
      if (result === null) return missingResult(source, part, turn);
      const id = ids.of(part.id);
      resultsOfTurn.push({ ...result, callId: id, ...(part.custom && { custom: true }) });
      return [id === part.id ? part : { ...part, id }];
    });
    if (rest.length > 0) settled.push({ ...turn, parts: rest });
    const [first] = resultsOfTurn;
    if (first !== undefined) settled.push({ role: 'user', parts: resultsOfTurn, at: first.at ?? turn.at });
  }
  const unclaimed = waiting.first();
  if (unclaimed !== undefined) unexpectedResult(source, unclaimed);
  return settled;
}

const noResult = ({ id, at }: ToolCallPart): ToolResultPart => ({
  type: 'tool-result',
  callId: id,
  content: [],
  at,
});

/** @throws GatewayError where the caller has begun the answer, and the model would begin another one */
export function refusePrefill(turns: readonly Turn[], { conversation, target }: Encoder): void {
  const last = turns.at(-1);
  if (target.countsOnly || conversation.source !== 'messages' || last?.role !== 'assistant') return;
  refuseParameter(last.at, 'Prefilling the answer is not supported by the model that would answer.');
}

/** The ids of a history's calls in their order: one that comes again is made another one, the same in every request. */
class HistoryIds {
  readonly #all: ReadonlySet<string>;
  readonly #given = new Set<string>();
  /** How often each id has come. */
  readonly #times = new Map<string, number>();

  constructor(all: readonly string[]) {
    this.#all = new Set(all);
  }

  of(id: string): string {
    let given = id;
    for (let times = this.#times.get(id) ?? 1; this.#given.has(given); times += 1) {
      const another = `${id}_${times + 1}`;
      if (!this.#all.has(another)) given = another;
      this.#times.set(id, times + 1);
    }
    this.#given.add(given);
    return given;
  }
}

const MISSING: Record<TextProtocol, (id: string) => string> = {
  responses: (id) => `No tool output found for function call ${id}.`,
  messages: (id) =>
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  gemini: (id) =>
    `Please ensure that each function call has a function response in the content after it: ${id} has none.`,
  chat: (id) =>
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${id}`,
};

const UNEXPECTED: Record<TextProtocol, (id: string) => string> = {
  responses: (id) => `No tool call found for function call output with call_id ${id}.`,
  messages: (id) =>
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  gemini: (id) => `Please ensure that each function response comes after its function call: ${id} has none.`,
  chat: (id) => `No tool call found for the tool message with tool_call_id ${id}.`,
};

function missingResult(source: TextProtocol, call: ToolCallPart, turn: Turn): never {
  throw new GatewayError('malformed_request', {
    message: MISSING[source](call.id),
    path: source === 'responses' ? ['input'] : [...turn.at],
  });
}

function unexpectedResult(source: TextProtocol, result: ToolResultPart): never {
  throw new GatewayError('malformed_request', {
    message: UNEXPECTED[source](result.callId),
    path: source === 'responses' ? ['input'] : [...(result.at ?? [])],
  });
}
