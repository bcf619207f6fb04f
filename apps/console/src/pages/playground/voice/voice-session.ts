import * as z from 'zod/mini';
import { BASE_PATH } from '../../../api/base-path.ts';
import { createLive, type Live } from '../exchange/live.ts';
import { openMicrophone, openSpeaker, type Speaker } from './sound.ts';

/** What was said, and by whom. */
export interface VoiceLine {
  readonly id: string;
  readonly by: 'you' | 'model' | 'error';
  readonly text: string;
}

interface VoiceState {
  readonly phase: 'closed' | 'opening' | 'open';
  readonly isListening: boolean;
  readonly lines: readonly VoiceLine[];
  /** Of all responses so far, as the provider reports them. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

interface VoiceOptions {
  readonly keyId: string;
  readonly model: string;
  /** Whether answers are spoken; else they are written. */
  readonly isSpoken: boolean;
  readonly instructions: string;
}

/** One conversation with a realtime model. */
export interface VoiceSession {
  readonly live: Live<VoiceState>;
  open(options: VoiceOptions): void;
  say(text: string): void;
  /** Opens the microphone, or closes it. */
  listen(on: boolean): Promise<void>;
  close(): void;
}

const CLOSED = { phase: 'closed', isListening: false } as const;
const MAX_LINES = 200;

/** Of a provider's events what is shown. */
const Event = z.object({
  type: z.string(),
  delta: z.optional(z.string()),
  transcript: z.optional(z.nullable(z.string())),
  item_id: z.optional(z.string()),
  error: z.optional(z.nullable(z.object({ message: z.string() }))),
  response: z.optional(
    z.object({
      usage: z.optional(z.nullable(z.object({ input_tokens: z.number(), output_tokens: z.number() }))),
    }),
  ),
});
type Event = z.infer<typeof Event>;

export function createVoiceSession(): VoiceSession {
  const live = createLive<VoiceState>({ ...CLOSED, lines: [], inputTokens: 0, outputTokens: 0 });
  let socket: WebSocket | undefined;
  let speaker: Speaker | undefined;
  let closeMicrophone: (() => void) | undefined;
  let count = 0;

  const change = (changed: Partial<VoiceState>): void => live.set({ ...live.get(), ...changed });
  const add = (by: VoiceLine['by'], text: string, id = `line-${count++}`): void => {
    const { lines } = live.get();
    const known = lines.find((line) => line.id === id);
    const line = { id, by, text: (known?.text ?? '') + text };
    change({
      lines: known ? lines.map((one) => (one === known ? line : one)) : [...lines, line].slice(-MAX_LINES),
    });
  };
  const send = (event: object): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(event));
  };

  const ended = (of: WebSocket): void => {
    if (socket !== of) return;
    socket = undefined;
    closeMicrophone?.();
    closeMicrophone = undefined;
    speaker?.close();
    speaker = undefined;
    change(CLOSED);
  };

  const acts: Readonly<Record<string, (event: Event) => void>> = {
    'response.output_audio.delta': ({ delta = '' }) => speaker?.play(delta),
    'response.output_audio_transcript.delta': ({ delta = '', item_id }) => add('model', delta, item_id),
    'response.output_text.delta': ({ delta = '', item_id }) => add('model', delta, item_id),
    // Who speaks interrupts the model.
    'input_audio_buffer.speech_started': () => speaker?.silence(),
    'input_audio_buffer.speech_stopped': ({ item_id }) => add('you', '(spoken)', item_id),
    'response.done': ({ response }) => {
      const { input_tokens: input = 0, output_tokens: output = 0 } = response?.usage ?? {};
      const { inputTokens, outputTokens } = live.get();
      change({ inputTokens: inputTokens + input, outputTokens: outputTokens + output });
    },
    error: ({ error }) => add('error', error?.message ?? 'The model reported an error.'),
  };

  const open = ({ keyId, model, isSpoken, instructions }: VoiceOptions): void => {
    socket?.close();
    const query = new URLSearchParams({ model, key: keyId });
    const url = new URL(`${BASE_PATH}/admin/v1/playground/v1/realtime?${query}`, location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const opened = new WebSocket(url);
    socket = opened;
    speaker = isSpoken ? openSpeaker() : undefined;
    live.set({ ...CLOSED, phase: 'opening', lines: [], inputTokens: 0, outputTokens: 0 });
    opened.addEventListener('open', () => {
      const session = { type: 'realtime', output_modalities: [isSpoken ? 'audio' : 'text'] };
      send({ type: 'session.update', session: { ...session, ...(instructions && { instructions }) } });
    });
    opened.addEventListener('message', ({ data }) => {
      if (socket !== opened) return;
      const { data: event } = Event.safeParse(JSON.parse(String(data)));
      if (event?.type === 'session.created') change({ phase: 'open' });
      if (event !== undefined && Object.hasOwn(acts, event.type)) acts[event.type]?.(event);
    });
    opened.addEventListener('close', ({ code }) => {
      const { phase, lines } = live.get();
      if (socket === opened && phase === 'opening' && !lines.some(({ by }) => by === 'error'))
        add(
          'error',
          `No session could be opened (${code}). May the key use the model, and the scope realtime?`,
        );
      ended(opened);
    });
  };

  return {
    live,
    open,
    say: (text) => {
      add('you', text);
      const content = [{ type: 'input_text', text }];
      send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
      send({ type: 'response.create' });
    },
    listen: async (on) => {
      closeMicrophone?.();
      closeMicrophone = undefined;
      change({ isListening: false });
      if (!on) return;
      const close = await openMicrophone((audio) => send({ type: 'input_audio_buffer.append', audio }));
      if (socket === undefined) return close();
      closeMicrophone = close;
      change({ isListening: true });
    },
    close: () => socket?.close(),
  };
}
