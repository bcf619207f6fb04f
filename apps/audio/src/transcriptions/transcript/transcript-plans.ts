import { GatewayError } from '@gateway/contracts/gateway-error';
import { TRANSCRIPT_FORMATS, type TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import { listed } from '@gateway/service-kit/request/validate';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Route } from '@gateway/upstream/configuration/configuration';
import type { Upstream } from '@gateway/upstream/upstream';
import { familyOf } from '../../model-family.ts';
import { STREAMED_FORMATS } from './transcript-events.ts';
import { TRANSCRIPT_FAMILIES } from './transcript-families.ts';

/** What a caller wants of a transcription. */
export interface WantedTranscript {
  readonly format: TranscriptFormat;
  /** In deltas. */
  readonly stream: boolean;
  /** In English. */
  readonly translates: boolean;
}

/** One channel that can give the transcript, and how it is called. */
export interface TranscriptPlan {
  /** The format to request; if it is not the wanted one, that is rendered from it. */
  readonly requestedFormat: TranscriptFormat;
  /** Whether deltas can be requested. */
  readonly streams: boolean;
}

/** The largest recording that a route takes; null: no bound is known. */
export interface AudioBounds {
  readonly maxFileBytes: number | null;
  readonly maxAudioSeconds: number | null;
}

export interface TranscriptPlans {
  readonly candidates: readonly Candidate[];
  of(candidate: Candidate): TranscriptPlan;
  boundsOf(candidate: Candidate): AudioBounds;
}

/** The formats of a route: its own list, else its family's; an unknown model has all. */
function abilitiesOf(route: Route, model: ResolvedModel) {
  const family = familyOf(TRANSCRIPT_FAMILIES, {
    configured: model.family,
    model: route.model ?? model.name,
  });
  const own = route.formats;
  return {
    formats: own ? TRANSCRIPT_FORMATS.filter((format) => own.includes(format)) : family?.formats,
    translates: family?.translates ?? true,
    streams: route.channel.library === null && (family?.streams ?? true),
    maxFileBytes: route.maxFileBytes ?? family?.maxFileBytes ?? null,
    maxAudioSeconds: route.maxAudioSeconds ?? family?.maxAudioSeconds ?? null,
  };
}

function planFor(
  route: Route,
  model: ResolvedModel,
  { format, stream, translates }: WantedTranscript,
): TranscriptPlan | null {
  const { formats = TRANSCRIPT_FORMATS, streams, ...can } = abilitiesOf(route, model);
  if (translates && !can.translates) return null;
  const requestedFormat = formatToRequest(format, formats);
  if (requestedFormat === null || !stream || !STREAMED_FORMATS.includes(format))
    return requestedFormat && { requestedFormat, streams: false };
  if (streams && requestedFormat !== 'verbose_json') return { requestedFormat, streams: true };
  // Deltas are made of segments, which plain formats do not have.
  const hasSegments = requestedFormat === 'diarized_json' || !formats.includes('verbose_json');
  return { requestedFormat: hasSegments ? requestedFormat : 'verbose_json', streams: false };
}

/**
 * The channels that can answer in the wanted format, best first, each with its plan.
 *
 * @throws {GatewayError} `unsupported_value` when there is none, `unsupported_model` when none translates
 */
export function transcriptPlans(
  upstream: Pick<Upstream, 'candidates'>,
  model: ResolvedModel,
  wanted: WantedTranscript,
): TranscriptPlans {
  const candidates = upstream.candidates({
    model,
    protocol: protocolOf(wanted),
    requires: (route) => planFor(route, model, wanted) !== null,
  });
  if (candidates.length === 0) throw refusalOf(model, wanted);
  return {
    candidates,
    of: ({ route }) => {
      const plan = planFor(route, model, wanted);
      if (plan === null) throw new Error('a candidate without a plan');
      return plan;
    },
    boundsOf: ({ route }) => abilitiesOf(route, model),
  };
}

/** How a channel is asked for it. */
export const protocolOf = ({ translates }: { readonly translates?: boolean | undefined }) =>
  translates === true ? 'translations' : 'transcriptions';

function refusalOf(model: ResolvedModel, { format, translates }: WantedTranscript): GatewayError {
  const mayTranslate = model.routes.some((route) => abilitiesOf(route, model).translates);
  if (!translates || mayTranslate) return incompatibleFormat(model, format, translates);
  return new GatewayError('unsupported_model', {
    path: ['model'],
    message: `The model '${model.name}' does not translate. Use one of the kind of whisper-1, or POST /v1/audio/transcriptions.`,
  });
}

/** Whether a recording is within the bounds; one of unknown duration is taken by its size alone. */
export const fits = (
  { maxFileBytes, maxAudioSeconds }: AudioBounds,
  { sizeBytes, durationSeconds }: { readonly sizeBytes: number; readonly durationSeconds: number | null },
): boolean =>
  (maxFileBytes === null || sizeBytes <= maxFileBytes) &&
  (maxAudioSeconds === null || durationSeconds === null || durationSeconds <= maxAudioSeconds);

/** The protocol's error for a format that a model does not have. It names those that can be had. */
export function incompatibleFormat(
  model: ResolvedModel,
  wanted: TranscriptFormat,
  translates: boolean,
): GatewayError {
  const possible = TRANSCRIPT_FORMATS.filter(
    (format) =>
      format !== wanted &&
      model.routes.some((route) => planFor(route, model, { format, stream: false, translates }) !== null),
  );
  const names = listed(
    possible.map((format) => `'${format}'`),
    'or',
    '',
  );
  return new GatewayError('unsupported_value', {
    path: ['response_format'],
    message: `response_format '${wanted}' is not compatible with model '${model.name}'. Use ${names} instead.`,
  });
}

/**
 * What each format can be made from, the best first. Times come from segments only and are never invented, so nothing
 * makes a `verbose_json`, whose segments carry the model's own figures, or a `diarized_json`, which knows the speakers.
 */
const MADE_FROM: Readonly<Record<TranscriptFormat, readonly TranscriptFormat[]>> = {
  json: ['verbose_json', 'diarized_json', 'text'],
  text: ['json', 'verbose_json', 'diarized_json'],
  srt: ['verbose_json', 'diarized_json'],
  vtt: ['verbose_json', 'diarized_json'],
  verbose_json: [],
  diarized_json: [],
};

/** The format to request of an upstream so that the wanted one can be answered; null if there is none. */
function formatToRequest(
  wanted: TranscriptFormat,
  available: readonly TranscriptFormat[],
): TranscriptFormat | null {
  if (available.includes(wanted)) return wanted;
  return MADE_FROM[wanted].find((format) => available.includes(format)) ?? null;
}
