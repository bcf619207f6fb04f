import type { GatewayError } from '@gateway/contracts/gateway-error';
import { isObject, type JsonObject, jsonIn } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import type { Candidate } from '@gateway/upstream/candidate';
import { cleanMessage } from '@gateway/upstream/failures/clean-message';
import { readEvent } from './read-event.ts';
import type { SessionContent } from './session-content.ts';
import type { SessionFacts } from './session-facts.ts';
import type { SessionResponses } from './session-responses.ts';
import type { SessionTranscripts } from './session-transcripts.ts';

interface ProviderEventsOptions {
  readonly candidate: Candidate;
  /** By the caller's name. */
  readonly modelName: string;
  readonly facts: SessionFacts;
  readonly responses: SessionResponses;
  readonly transcripts: SessionTranscripts;
  readonly content: SessionContent;
  /** Gets what the caller is to get, in its order. */
  readonly pass: (event: Buffer | string) => void;
  /** A response has begun. @param isOne false: it is one too many */
  readonly onBegun: (isOne: boolean) => void;
  /** A transcript was made that may have been the last one. */
  readonly onRefused: (error: GatewayError) => void;
}

const SOUND = /^response\.(?:output_)?audio\.delta$/;
/** Words of a response, spoken or written. */
const WORDS = /^response\.(?:output_)?(?:audio_transcript|text)\.delta$/;
const OUTPUT = /^response\..+\.delta$/;

type Act = (event: JsonObject, data: Buffer) => void;

/** Reads of a provider's events what they cost, and passes them on. All others pass as they are. */
export function createProviderEvents(options: ProviderEventsOptions) {
  const { candidate, modelName, facts, responses, transcripts, content, pass, onBegun, onRefused } = options;

  const sessionIs: Act = (event, data) => {
    const { session } = event;
    if (!isObject(session)) {
      pass(data);
      return;
    }
    facts.sessionIs(session, data.length);
    transcripts.sessionIs(session);
    content.sessionIs(session);
    // A provider's own client secret would lead past the gateway.
    const { client_secret: secret, ...shown } = session;
    const isAsItIs = !secret && (candidate.model === modelName || session.model === undefined);
    pass(isAsItIs ? data : JSON.stringify({ ...event, session: { ...shown, model: modelName } }));
  };

  /** An error without what its words tell of the gateway's account. */
  const shown = (error: JsonObject): JsonObject => {
    const { message } = error;
    if (message === undefined) return error;
    return { ...error, message: typeof message === 'string' ? cleanMessage(message, candidate) : '' };
  };

  const transcribed = async (event: JsonObject) => {
    const charging = transcripts.made(event);
    content.transcribed(event.item_id, event.transcript);
    const refusal = await charging;
    if (refusal !== null) onRefused(refusal);
  };

  const acts: Readonly<Record<string, Act>> = {
    'session.created': sessionIs,
    'session.updated': sessionIs,
    'response.created': (event, data) => {
      pass(data);
      onBegun(responses.begun(event));
    },
    'response.done': (event, data) => {
      const { response } = event;
      const details = isObject(response) ? response.status_details : undefined;
      const error = isObject(details) ? details.error : undefined;
      // Before what its end leads to: the connection may close then.
      if (isObject(response) && isObject(details) && isObject(error)) {
        const failed = { ...response, status_details: { ...details, error: shown(error) } };
        const told = { ...event, response: failed };
        pass(JSON.stringify(told));
        responses.done(told);
        return;
      }
      pass(data);
      responses.done(event);
    },
    'input_audio_buffer.committed': (event, data) => {
      pass(data);
      content.spoken(event.item_id, transcripts.begun(event));
    },
    'conversation.item.input_audio_transcription.completed': (event, data) => {
      pass(data);
      void transcribed(event);
    },
    'conversation.item.input_audio_transcription.failed': (event, data) => {
      pass(isObject(event.error) ? JSON.stringify({ ...event, error: shown(event.error) }) : data);
      transcripts.failed(event);
      content.transcribed(event.item_id, null);
    },
    error: (event) => {
      const error = isObject(event.error) ? event.error : {};
      responses.refused(typeof error.event_id === 'string' ? error.event_id : null);
      pass(JSON.stringify({ ...event, error: shown(error) }));
    },
    // They are those of the gateway's account.
    'rate_limits.updated': () => undefined,
  };

  return (data: Buffer, isBinary: boolean): void => {
    const outline = isBinary ? null : readEvent(data);
    const type = outline?.type ?? '';
    const act = lookUp(acts, type);
    const event = act === undefined ? undefined : jsonIn(data.toString());
    if (act !== undefined && isObject(event)) {
      act(event, data);
      return;
    }
    if (content.isOn && WORDS.test(type)) responses.said(jsonIn(data.toString()));
    if (OUTPUT.test(type)) responses.output(SOUND.test(type) ? (outline?.longestBytes ?? 0) : 0);
    pass(data);
  };
}
