import { GatewayError } from '@gateway/contracts/gateway-error';
import { isObject, type JsonObject, jsonIn } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { parseJson } from '@gateway/service-kit/request/json-body';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Upstream } from '@gateway/upstream/upstream';
import { type EventOutline, readEvent, soundIn } from './read-event.ts';
import type { ResponseAccounts } from './response-accounts.ts';
import type { SessionContent } from './session-content.ts';
import { shuttingDown } from './session-end.ts';
import type { SessionFacts } from './session-facts.ts';
import type { SessionResponses } from './session-responses.ts';
import { checkSettings } from './session-settings.ts';
import type { SessionTranscripts } from './session-transcripts.ts';

interface CallerEventsOptions {
  readonly accounts: Pick<ResponseAccounts, 'checkKey'>;
  readonly facts: SessionFacts;
  readonly upstream: Pick<Upstream, 'resolveModel'>;
  readonly candidate: Candidate;
  /** By the caller's name. */
  readonly modelName: string;
  readonly maxJsonDepth: number;
  readonly responses: SessionResponses;
  readonly transcripts: SessionTranscripts;
  readonly content: SessionContent;
  readonly isOver: () => boolean;
  readonly isStopping: () => boolean;
  /** Gets what the provider is to get, in its order. */
  readonly pass: (event: Buffer) => void;
  readonly refuse: (error: GatewayError, eventId: string | null) => void;
  /** What comes after this event waits for it. */
  readonly hold: (work: Promise<void>) => void;
}

type Act = (data: Buffer, outline: EventOutline) => void;

/** Reads of a caller's events what costs money or may not be sent, and passes them on. All others pass as they are. */
export function createCallerEvents(options: CallerEventsOptions) {
  const { accounts, facts, upstream, candidate, modelName, maxJsonDepth } = options;
  const { responses, transcripts, content, isOver, isStopping, pass, refuse, hold } = options;

  const heard = (base64Bytes: number) => {
    const before = facts.heardMs;
    facts.heard(base64Bytes);
    const ms = facts.heardMs - before;
    void responses.heard();
    return ms;
  };

  const added = (data: Buffer, items: readonly unknown[]) => {
    const soundBytes = soundIn(items);
    facts.added(data.length - soundBytes);
    if (soundBytes > 0) heard(soundBytes);
  };

  const request = async (event: JsonObject, data: Buffer) => {
    if (isStopping()) throw shuttingDown();
    const response = isObject(event.response) ? event.response : {};
    // Its sound is counted with the response.
    const soundBytes = soundIn(Array.isArray(response.input) ? response.input : []);
    facts.heard(soundBytes);
    const takeBack = facts.added(data.length - soundBytes);
    const eventId = typeof event.event_id === 'string' ? event.event_id : null;
    let isPassed = false;
    try {
      await responses.request(eventId, response);
      // The caller may have left meanwhile.
      isPassed = !isOver();
    } finally {
      if (!isPassed) {
        facts.heard(-soundBytes);
        takeBack();
      }
    }
    if (isPassed) pass(data);
  };

  const update = async (event: JsonObject, data: Buffer) => {
    if (!isObject(event.session)) return pass(data);
    const identity = await accounts.checkKey();
    const checked = checkSettings(event.session, { upstream, identity, modelName, candidate });
    if (checked.transcriber) transcripts.allow(checked.transcriber);
    // Written again as it was read: of a member that comes twice the provider gets the one that was checked.
    pass(Buffer.from(JSON.stringify({ ...event, session: checked.session })));
  };

  const refuseTranscription = async () => {
    throw new GatewayError('unsupported_value', {
      path: ['type'],
      message: "Transcription sessions are not offered. Use 'session.update'.",
    });
  };

  /** Handles an event whose successors wait until it is handled. */
  const held =
    (handle: (event: JsonObject, data: Buffer) => Promise<void>): Act =>
    (data) => {
      let eventId: string | null = null;
      const handled = async () => {
        const event = parseJson(data, maxJsonDepth);
        if (!isObject(event)) throw new GatewayError('invalid_type', 'An event must be a JSON object.');
        eventId = typeof event.event_id === 'string' ? event.event_id : null;
        await handle(event, data);
      };
      hold(handled().catch((error: unknown) => refuse(toGatewayError(error), eventId)));
    };

  const acts: Readonly<Record<string, Act>> = {
    'input_audio_buffer.append': (data, { longestBytes }) => {
      content.heard(heard(longestBytes));
      pass(data);
    },
    'conversation.item.create': (data) => {
      const event = jsonIn(data.toString());
      const item = isObject(event) ? event.item : undefined;
      added(data, [item]);
      content.added(item);
      pass(data);
    },
    'response.create': held(request),
    'session.update': held(update),
    'transcription_session.update': held(refuseTranscription),
  };

  return (data: Buffer): void => {
    if (isOver()) return;
    const outline = readEvent(data);
    if (outline === null) {
      refuse(new GatewayError('invalid_json', "An event must be a JSON object with one 'type'."), null);
      return;
    }
    const act = lookUp(acts, outline.type);
    if (act === undefined) pass(data);
    else act(data, outline);
  };
}
