import { GatewayError } from '@gateway/contracts/gateway-error';
import { TRANSCRIPT_FORMATS, type TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import { listed } from '@gateway/service-kit/validate';
import type { Candidate, ResolvedModel } from '@gateway/upstream/catalog';
import type { Route } from '@gateway/upstream/configuration/configuration';
import type { Upstream } from '@gateway/upstream/upstream';
import { familyOf } from '../model-family.ts';
import { formatToAsk } from './format-to-ask.ts';
import { TRANSCRIPT_FAMILIES } from './transcript-families.ts';

/** One channel that can give the transcript, and how it is asked. */
export interface TranscriptPlan {
  /** The format to ask for; where it is not the wanted one, that is rendered from it. */
  readonly ask: TranscriptFormat;
  /** Whether deltas can be asked for. */
  readonly streams: boolean;
}

interface TranscriptPlans {
  readonly candidates: readonly Candidate[];
  of(candidate: Candidate): TranscriptPlan;
}

/** Formats whose text can come in deltas. */
const STREAMED_FORMATS: readonly TranscriptFormat[] = ['json', 'text', 'diarized_json'];

/** What a route can be asked for: its own list of formats, else its family's; a model nobody knows has all. */
function abilitiesOf(route: Route, model: ResolvedModel) {
  const family = familyOf(TRANSCRIPT_FAMILIES, {
    configured: model.family,
    model: route.model ?? model.name,
  });
  const own = route.formats;
  return {
    formats: own ? TRANSCRIPT_FORMATS.filter((format) => own.includes(format)) : family?.formats,
    streams: family?.streams ?? true,
  };
}

function planFor(route: Route, model: ResolvedModel, wanted: TranscriptFormat): TranscriptPlan | null {
  const { formats = TRANSCRIPT_FORMATS, streams } = abilitiesOf(route, model);
  const ask = formatToAsk(wanted, formats);
  return ask && { ask, streams: streams && STREAMED_FORMATS.includes(wanted) && ask !== 'verbose_json' };
}

/**
 * The channels that can answer in the wanted format, best first, each with its plan.
 *
 * @throws {GatewayError} `unsupported_value` when there is none
 */
export function transcriptPlans(
  upstream: Pick<Upstream, 'candidates'>,
  model: ResolvedModel,
  wanted: TranscriptFormat,
): TranscriptPlans {
  const candidates = upstream.candidates({
    model,
    protocol: 'transcriptions',
    requires: (route) => planFor(route, model, wanted) !== null,
  });
  if (candidates.length === 0) throw incompatibleFormat(model, wanted);
  return {
    candidates,
    of: ({ route }) => {
      const plan = planFor(route, model, wanted);
      if (plan === null) throw new Error('a candidate without a plan');
      return plan;
    },
  };
}

/** The protocol's error for a format that a model does not have. It names those that can be had. */
export function incompatibleFormat(model: ResolvedModel, wanted: TranscriptFormat): GatewayError {
  const possible = TRANSCRIPT_FORMATS.filter(
    (format) => format !== wanted && model.routes.some((route) => planFor(route, model, format) !== null),
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
