import type { Metrics } from '@gateway/service-kit/metrics';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { PutResult } from '../stored/store/conversation-store.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Usage } from '../wire/usage.ts';

/** What wants a conversation compacted. */
export type CompactionCause = 'endpoint' | 'summarize' | 'trigger' | 'threshold';

/** What this service counts beside its requests. Channels are the operator's own few. */
export interface TextMetrics {
  tokens(channel: string, usage: Usage): void;
  firstByte(channel: string, durationMs: number): void;
  /** A turn of a message thread that the gateway keeps, and whether it can be gone on from. */
  threadTurn(turn: 'create' | 'continue', result: 'kept' | 'not_kept'): void;
  /** Members of requests that the upstream's protocol does not have. */
  losses(caller: TextProtocol, target: ConversationProtocol, count: number): void;
  /** Responses that were to be kept, by what became of it. */
  stored(result: PutResult | 'failed'): void;
  /** A conversation that was compacted, or not, because of `by`. */
  compacted(by: CompactionCause, where: 'gateway' | 'provider', result: 'ok' | 'failed'): void;
  /** Expired records that were removed. */
  swept(count: number): void;
  socketOpened(): void;
  /** A WebSocket that ended, and why. */
  socketClosed(reason: CloseReason): void;
}

/** Who or what ended a WebSocket. */
export type CloseReason =
  | 'caller'
  | 'lost'
  | 'silent'
  | 'idle'
  | 'age'
  | 'key'
  | 'restart'
  | 'flood'
  | 'slow'
  | 'protocol';

/** Seconds: a model's first output comes after a tenth of a second or after a minute of thought. */
const FIRST_BYTE_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60];

export function createTextMetrics({ registry }: Pick<Metrics, 'registry'>): TextMetrics {
  const registers = [registry];
  const tokens = new Counter({
    name: 'gateway_tokens_total',
    help: 'Tokens as the upstream reported them; cached input is part of input, reasoning is part of output',
    labelNames: ['channel', 'kind'],
    registers,
  });
  const firstByte = new Histogram({
    name: 'gateway_first_byte_seconds',
    help: 'Time from the request to the first byte of its reply',
    labelNames: ['channel'],
    buckets: FIRST_BYTE_BUCKETS,
    registers,
  });
  const losses = new Counter({
    name: 'gateway_translation_losses_total',
    help: "Members of requests that were left out because the upstream's protocol or quirks do not have them",
    labelNames: ['caller', 'target'],
    registers,
  });
  const threadTurns = new Counter({
    name: 'gateway_thread_turns_total',
    help: 'Answered turns of message threads, by whether the thread can be continued from them',
    labelNames: ['turn', 'result'],
    registers,
  });
  const stored = new Counter({
    name: 'gateway_conversation_writes_total',
    help: 'Responses, messages and conversations that were to be kept, by what became of it: stored, full, failed and so on',
    labelNames: ['result'],
    registers,
  });
  const compactions = new Counter({
    name: 'gateway_compactions_total',
    help: 'Conversations that were compacted, by what wanted it, who did it and what became of it',
    labelNames: ['by', 'where', 'result'],
    registers,
  });
  const swept = new Counter({
    name: 'gateway_conversation_records_swept_total',
    help: 'Kept responses, messages and conversations that expired and were removed',
    registers,
  });
  const openSockets = new Gauge({
    name: 'gateway_websockets_open',
    help: 'WebSockets that are open now',
    registers,
  });
  const closedSockets = new Counter({
    name: 'gateway_websockets_closed_total',
    help: 'WebSockets that ended, by who or what ended them',
    labelNames: ['reason'],
    registers,
  });
  return {
    socketOpened: () => openSockets.inc(),
    socketClosed: (reason) => {
      openSockets.dec();
      closedSockets.inc({ reason });
    },
    stored: (result) => stored.inc({ result }),
    compacted: (by, where, result) => compactions.inc({ by, where, result }),
    swept: (count) => swept.inc(count),
    tokens: (channel, usage) => {
      const kinds = {
        input: usage.inputTokens,
        cached_input: usage.cachedInputTokens,
        output: usage.outputTokens,
        reasoning: usage.reasoningTokens,
      };
      for (const [kind, count] of Object.entries(kinds)) if (count > 0) tokens.inc({ channel, kind }, count);
    },
    threadTurn: (turn, result) => threadTurns.inc({ turn, result }),
    losses: (caller, target, count) => losses.inc({ caller, target }, count),
    firstByte: (channel, durationMs) => firstByte.observe({ channel }, durationMs / 1000),
  };
}
