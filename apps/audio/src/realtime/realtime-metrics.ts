import type { Consumption } from '@gateway/contracts/usage/usage-record';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Gauge } from 'prom-client';

/** Who or what ended a session. */
export type CloseReason =
  | 'caller'
  | 'lost'
  | 'silent'
  | 'slow'
  | 'flood'
  | 'idle'
  | 'age'
  | 'key'
  | 'budget'
  | 'upstream'
  | 'restart'
  /** It was not let in. */
  | 'refused'
  /** No channel began it. */
  | 'opening';

export interface RealtimeMetrics {
  opened(): void;
  closed(reason: CloseReason): void;
  /** What a response used, or sound that none followed. */
  used(channel: string, consumption: Consumption): void;
}

const TOKENS: Readonly<Record<string, (used: Consumption) => number | undefined>> = {
  input: ({ inputTokens }) => inputTokens,
  cached_input: ({ cachedInputTokens }) => cachedInputTokens,
  audio_input: ({ audioInputTokens }) => audioInputTokens,
  image_input: ({ imageInputTokens }) => imageInputTokens,
  output: ({ outputTokens }) => outputTokens,
  audio_output: ({ audioOutputTokens }) => audioOutputTokens,
};
const MS_PER_SECOND = 1000;

export function createRealtimeMetrics({ registry }: MetricsRegistry): RealtimeMetrics {
  const registers = [registry];
  const open = new Gauge({
    name: 'gateway_realtime_sessions_open',
    help: 'Realtime sessions that are open now',
    registers,
  });
  const closed = new Counter({
    name: 'gateway_realtime_sessions_closed_total',
    help: 'Realtime sessions that ended, by who or what ended them',
    labelNames: ['reason'],
    registers,
  });
  const tokens = new Counter({
    name: 'gateway_realtime_tokens_total',
    help: 'Tokens of responses in realtime sessions; cached, audio and image input are part of input, audio output of output',
    labelNames: ['channel', 'kind'],
    registers,
  });
  const heard = new Counter({
    name: 'gateway_realtime_heard_seconds_total',
    help: 'Sound of callers in realtime sessions',
    labelNames: ['channel'],
    registers,
  });
  return {
    opened: () => open.inc(),
    closed: (reason) => {
      open.dec();
      closed.inc({ reason });
    },
    used: (channel, consumption) => {
      for (const [kind, countOf] of Object.entries(TOKENS)) {
        const count = countOf(consumption) ?? 0;
        if (count > 0) tokens.inc({ channel, kind }, count);
      }
      if (consumption.audioMs > 0) heard.inc({ channel }, consumption.audioMs / MS_PER_SECOND);
    },
  };
}
