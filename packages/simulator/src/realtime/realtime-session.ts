import { asObject, asText } from '../json-value.ts';
import type { Ids } from '../provider.ts';
import type { ResponseScript, ServedResponse } from './realtime-script.ts';
import { ConversationTokens } from './realtime-usage.ts';

type Json = Readonly<Record<string, unknown>>;

interface Wire {
  readonly ids: Ids;
  readonly model: string;
  readonly send: (event: object) => void;
  readonly cut: () => void;
  readonly nextScript: (asked: string) => ResponseScript | undefined;
  readonly onResponse: (served: ServedResponse) => void;
}

interface Active {
  readonly id: string;
  readonly asked: string;
  readonly script: ResponseScript;
  /** As sound with its transcript; else as text. */
  readonly isSpoken: boolean;
  soundBytes: number;
  transcript: string;
}

class RefusedEvent extends Error {
  readonly code: string;
  readonly param: string | null;
  constructor(code: string, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

const WORDS = ['It', ' is', ' a', ' simulated', ' voice.'];
/** A tenth of a second. */
const PIECE_BYTES = 4800;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Sound that is only zeros ends a turn of speech. */
const isSilence = (sound: Buffer): boolean => sound.every((byte) => byte === 0);

/** A session of the Realtime API: it speaks the same words whatever it is told, and is strict about what it is sent. */
export class SimulatedConversation {
  readonly #wire: Wire;
  readonly #tokens = new ConversationTokens();
  #session: Json;
  #heardBytes = 0;
  #isSpeaking = false;
  #active: Active | null = null;
  /** The content that was added last. */
  #added: unknown = '';

  constructor(wire: Wire) {
    this.#wire = wire;
    const format = { type: 'audio/pcm', rate: 24_000 };
    this.#session = {
      type: 'realtime',
      object: 'realtime.session',
      id: wire.ids.next('sess_'),
      model: wire.model,
      output_modalities: ['audio'],
      instructions: 'Be helpful.',
      tools: [],
      max_output_tokens: 'inf',
      audio: {
        input: { format, transcription: null, turn_detection: { type: 'server_vad', create_response: true } },
        output: { format, voice: 'alloy', speed: 1 },
      },
    };
  }

  begin(): void {
    this.#emit('session.created', { session: this.#session });
  }

  take(event: Json): void {
    try {
      const { type } = event;
      const act =
        typeof type === 'string' && Object.hasOwn(this.#events, type) ? this.#events[type] : undefined;
      if (act === undefined) throw new RefusedEvent('invalid_value', `Invalid value: '${type}'.`, 'type');
      act(event);
    } catch (error) {
      if (!(error instanceof RefusedEvent)) throw error;
      const { code, message, param } = error;
      const event_id = typeof event.event_id === 'string' ? event.event_id : null;
      this.#emit('error', { error: { type: 'invalid_request_error', code, message, param, event_id } });
    }
  }

  readonly #events: Readonly<Record<string, (event: Json) => void>> = {
    'session.update': (event) => {
      const update = asObject(event.session);
      if (update.type === undefined)
        throw new RefusedEvent(
          'missing_required_parameter',
          "Missing required parameter: 'session.type'.",
          'session.type',
        );
      if (update.type !== 'realtime')
        throw new RefusedEvent('invalid_value', 'The type of a session cannot change.', 'session.type');
      if (update.model !== undefined && update.model !== this.#wire.model)
        throw new RefusedEvent('cannot_update_model', 'The model cannot change.', 'session.model');
      this.#session = merged(this.#session, update);
      this.#emit('session.updated', { session: this.#session });
    },
    'input_audio_buffer.append': ({ audio }) => {
      if (typeof audio !== 'string' || !BASE64.test(audio))
        throw new RefusedEvent('invalid_value', 'The audio is no base64.', 'audio');
      const sound = Buffer.from(audio, 'base64');
      this.#heardBytes += sound.length;
      const detection = asObject(asObject(this.#session.audio).input).turn_detection;
      if (asObject(detection).type !== 'server_vad') return;
      if (!isSilence(sound)) {
        if (!this.#isSpeaking) this.#emit('input_audio_buffer.speech_started', { audio_start_ms: 0 });
        this.#isSpeaking = true;
      } else if (this.#isSpeaking) {
        this.#isSpeaking = false;
        this.#emit('input_audio_buffer.speech_stopped', { audio_end_ms: 0 });
        this.#commit();
        if (asObject(detection).create_response !== false) this.respond();
      }
    },
    'input_audio_buffer.commit': () => {
      if (this.#heardBytes === 0)
        throw new RefusedEvent('input_audio_buffer_commit_empty', 'The buffer is empty.');
      this.#commit();
    },
    'input_audio_buffer.clear': () => {
      this.#heardBytes = 0;
      this.#emit('input_audio_buffer.cleared', {});
    },
    'conversation.item.create': ({ item }) => {
      const { type, role, content } = asObject(item);
      if (type === undefined)
        throw new RefusedEvent('missing_required_parameter', 'Missing type.', 'item.type');
      this.#tokens.addContent(content);
      this.#added = content;
      const added = { id: this.#wire.ids.next('item_'), object: 'realtime.item', type, role, content };
      this.#emit('conversation.item.added', { previous_item_id: null, item: added });
      this.#emit('conversation.item.done', { previous_item_id: null, item: added });
    },
    'response.create': ({ response }) => {
      if (this.#active !== null)
        throw new RefusedEvent(
          'conversation_already_has_active_response',
          'Conversation already has an active response in progress.',
        );
      this.respond(asObject(response).output_modalities);
    },
    'response.cancel': ({ response_id: id }) => {
      const active = this.#active;
      if (active === null || (id !== undefined && id !== active.id))
        throw new RefusedEvent('response_cancel_not_active', 'Cancellation failed: no active response found');
      this.#end(active, 'cancelled');
    },
  };

  #commit(): void {
    this.#tokens.addSound(this.#heardBytes);
    const seconds = Math.ceil(this.#heardBytes / 48_000);
    const audioTokens = Math.ceil(this.#heardBytes / 4800);
    this.#heardBytes = 0;
    const id = this.#wire.ids.next('item_');
    this.#emit('input_audio_buffer.committed', { previous_item_id: null, item_id: id });
    const { transcription } = asObject(asObject(this.#session.audio).input);
    const { model } = asObject(transcription);
    if (typeof model !== 'string') return;
    const tokens = {
      type: 'tokens',
      total_tokens: audioTokens + 3,
      input_tokens: audioTokens,
      input_token_details: { text_tokens: 0, audio_tokens: audioTokens },
      output_tokens: 3,
    };
    this.#emit('conversation.item.input_audio_transcription.completed', {
      ...{ item_id: id, content_index: 0, transcript: 'Hello there.' },
      usage: model.startsWith('whisper') ? { type: 'duration', seconds } : tokens,
    });
  }

  /** Begins a response. @param modalities absent: the session's */
  respond(modalities: unknown = this.#session.output_modalities): void {
    const asked = JSON.stringify(this.#added);
    const script = this.#wire.nextScript(asked) ?? {};
    const words = script.words ?? WORDS;
    const id = this.#wire.ids.next('resp_');
    const isSpoken = !(Array.isArray(modalities) && modalities.includes('text'));
    const active: Active = { id, asked, script, isSpoken, soundBytes: 0, transcript: '' };
    this.#active = active;
    this.#emit('response.created', { response: this.#response(active, 'in_progress', null) });
    const { pieces = words.length, pieceBytes = PIECE_BYTES, cutAfter, gate, status = 'completed' } = script;
    const delta = Buffer.alloc(pieceBytes, 7).toString('base64');
    const place = { response_id: id, item_id: `item_of_${id}`, output_index: 0, content_index: 0 };
    for (let at = 0; at < pieces; at += 1) {
      if (at === cutAfter) {
        this.#wire.cut();
        return;
      }
      const word = words[at % words.length];
      active.transcript += word;
      if (isSpoken) {
        active.soundBytes += pieceBytes;
        this.#emit('response.output_audio.delta', { ...place, delta });
        this.#emit('response.output_audio_transcript.delta', { ...place, delta: word });
      } else this.#emit('response.output_text.delta', { ...place, delta: word });
    }
    if (gate === undefined) this.#end(active, status);
    else void gate.then(() => this.#end(active, status));
  }

  /** Its connection has ended. */
  lost(): void {
    if (this.#active !== null) this.#wire.onResponse({ asked: this.#active.asked, isComplete: false });
    this.#active = null;
  }

  #end(active: Active, status: string): void {
    if (this.#active !== active) return;
    this.#active = null;
    const { script, transcript, soundBytes } = active;
    const used = this.#tokens.respond(transcript, soundBytes);
    const usage = script.usage === undefined ? used : script.usage;
    const response = this.#response(active, status, usage);
    for (let at = 0; at < (script.ends ?? 1); at += 1) this.#emit('response.done', { response });
    this.#wire.onResponse({ asked: active.asked, isComplete: true });
    this.#emit('rate_limits.updated', { rate_limits: [{ name: 'tokens', limit: 1, remaining: 1 }] });
  }

  #response({ id, isSpoken, transcript }: Active, status: string, usage: unknown) {
    const said = isSpoken ? { type: 'output_audio', transcript } : { type: 'output_text', text: transcript };
    const output = status === 'in_progress' ? [] : [{ type: 'message', role: 'assistant', content: [said] }];
    const output_modalities = [isSpoken ? 'audio' : 'text'];
    return {
      object: 'realtime.response',
      ...{ id, status, status_details: null, output, output_modalities, usage },
    };
  }

  #emit(type: string, members: object): void {
    this.#wire.send({ type, event_id: this.#wire.ids.next('event_'), ...members });
  }
}

function merged(base: Json, update: Json): Json {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(update)) {
    const before = result[name];
    const isDeep = isPlain(before) && isPlain(value);
    result[name] = isDeep ? merged(asObject(before), asObject(value)) : value;
  }
  return result;
}

const isPlain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && asText(value) === '';
