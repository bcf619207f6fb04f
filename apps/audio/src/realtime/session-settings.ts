import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { modelFor } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';

/** The model that makes transcripts of what a session's caller says, and who charges for it. */
export interface Transcriber {
  readonly model: ResolvedModel;
  readonly price: ResolvedModel['price'];
  /** The channel's own name for it. */
  readonly upstreamName: string;
}

interface SettingsRules {
  readonly upstream: Pick<Upstream, 'resolveModel'>;
  readonly identity: Pick<Identity, 'models' | 'channel'>;
  /** The session's, by the caller's name. */
  readonly modelName: string;
  /** Null: the session has not begun, so that its channel is not known. */
  readonly candidate: Pick<Candidate, 'channel'> | null;
}

export interface CheckedSettings {
  readonly session: JsonObject;
  /** Undefined: they say nothing of transcripts; null: none are made. */
  readonly transcriber: Transcriber | null | undefined;
}

/**
 * The settings of a session, as they may go to its provider: the model stays, and transcripts are made by a model that the key may
 * use and whose price is known.
 *
 * @throws {GatewayError} `unsupported_value`, `model_not_found`, `unsupported_model`
 */
export function checkSettings(sent: JsonObject, rules: SettingsRules): CheckedSettings {
  if (sent.type === 'transcription' || sent.type === 'translation') {
    throw new GatewayError('unsupported_value', {
      path: ['session', 'type'],
      message: `Sessions of the type '${sent.type}' are not offered. Use 'realtime'; for transcripts alone POST /v1/audio/transcriptions.`,
    });
  }
  const { model, ...others } = sent;
  if (model !== undefined && model !== rules.modelName) {
    throw new GatewayError('unsupported_value', {
      path: ['session', 'model'],
      message: `The model of a session cannot change: this one has '${rules.modelName}'. Open another session for another model.`,
    });
  }
  const named = transcriptionIn(others);
  if (named === undefined) return { session: others, transcriber: undefined };
  if (named.settings === null) return { session: others, transcriber: null };
  const transcriber = transcriberFor(named.settings, rules);
  return { session: named.put({ ...named.settings, model: transcriber.upstreamName }), transcriber };
}

interface NamedTranscription {
  readonly settings: JsonObject | null;
  put(settings: JsonObject): JsonObject;
}

/** Where settings say how transcripts are made, in the present form or the older one. */
function transcriptionIn(session: JsonObject): NamedTranscription | undefined {
  const { audio, input_audio_transcription: older } = session;
  const input = isObject(audio) ? audio.input : undefined;
  const present = isObject(input) ? input.transcription : undefined;
  if (older !== undefined && present !== undefined) {
    throw new GatewayError('mutually_exclusive_parameters', {
      path: ['session', 'input_audio_transcription'],
      message: "Only one of 'audio.input.transcription' and 'input_audio_transcription' may be set.",
    });
  }
  if (older !== undefined)
    return {
      settings: isObject(older) ? older : null,
      put: (settings) => ({ ...session, input_audio_transcription: settings }),
    };
  if (present === undefined) return undefined;
  return {
    settings: isObject(present) ? present : null,
    put: (settings) => ({
      ...session,
      audio: {
        ...(isObject(audio) ? audio : {}),
        input: { ...(isObject(input) ? input : {}), transcription: settings },
      },
    }),
  };
}

/** The provider's name of the model that makes a session's transcripts; null: none does. */
export function transcriptionModelIn(session: JsonObject): string | null {
  const { audio, input_audio_transcription: older } = session;
  const input = isObject(audio) ? audio.input : undefined;
  const settings = isObject(input) ? input.transcription : older;
  const model = isObject(settings) ? settings.model : undefined;
  return typeof model === 'string' ? model : null;
}

/** The model of transcripts has to have a route to the session's own channel, which makes them. */
function transcriberFor(settings: JsonObject, { upstream, identity, candidate }: SettingsRules): Transcriber {
  const path = ['session', 'audio', 'input', 'transcription', 'model'];
  const { model: name } = settings;
  if (typeof name !== 'string') {
    throw new GatewayError('missing_required_parameter', {
      path,
      message: "Name the model that makes the transcripts: 'audio.input.transcription.model'.",
    });
  }
  const model = modelFor(upstream, { name, protocols: ['transcriptions'], identity });
  const routes = model.routes.filter(
    ({ channel }) => candidate === null || channel.name === candidate.channel.name,
  );
  const [route] = routes;
  if (route === undefined) {
    throw new GatewayError('unsupported_model', {
      path,
      message: `The model '${name}' is not available for transcripts in this session: it has no route to the session's channel.`,
    });
  }
  return { model, price: model.priceAt(route), upstreamName: route.model ?? model.name };
}
