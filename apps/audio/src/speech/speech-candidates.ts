import { GatewayError } from '@gateway/contracts/gateway-error';
import type { SpeechRequest } from '@gateway/contracts/openai/speech';
import { listed } from '@gateway/service-kit/request/validate';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Route } from '@gateway/upstream/configuration/configuration';
import type { Upstream } from '@gateway/upstream/upstream';
import { familyOf } from '../model-family.ts';
import { SPEECH_FAMILIES } from './speech-families.ts';

interface RouteAbilities {
  /** Null: nothing is known, so every name passes. */
  readonly voices: readonly string[] | null;
  readonly streamFormats: readonly StreamFormat[] | null;
}

export type StreamFormat = 'audio' | 'sse';

/** What a route takes: by its family, and what the configuration lists for it. */
function abilitiesOf(route: Route, model: ResolvedModel): RouteAbilities {
  const family = familyOf(SPEECH_FAMILIES, {
    configured: model.family,
    model: route.model ?? model.name,
  });
  const voices = [...(family?.voices ?? []), ...(route.voices ?? [])];
  return {
    voices: voices.length === 0 ? null : [...new Set(voices)],
    streamFormats: route.streamFormats ?? family?.streamFormats ?? null,
  };
}

/** A voice that the provider made for the caller is the provider's to know. */
const hasVoice = ({ voices }: RouteAbilities, { voice }: SpeechRequest): boolean =>
  typeof voice !== 'string' || voices === null || voices.includes(voice);

/** The form in which speech is requested of a route: as the caller wants it, else as the route has it. Then it is converted. */
export function streamFormatOf(
  { route }: Pick<Candidate, 'route'>,
  model: ResolvedModel,
  wanted: StreamFormat,
): StreamFormat {
  const { streamFormats } = abilitiesOf(route, model);
  return streamFormats === null || streamFormats.includes(wanted) ? wanted : (streamFormats[0] ?? wanted);
}

/**
 * The channels that can speak this, best first.
 *
 * @throws {GatewayError} `invalid_value` for a voice that no route has
 */
export function speechCandidates(
  upstream: Pick<Upstream, 'candidates'>,
  model: ResolvedModel,
  speech: SpeechRequest,
): readonly Candidate[] {
  const abilities = new Map(model.routes.map((route) => [route, abilitiesOf(route, model)]));
  const candidates = upstream.candidates({
    model,
    protocol: 'speech',
    requires: (route) => hasVoice(abilities.get(route) ?? abilitiesOf(route, model), speech),
  });
  if (candidates.length === 0) throw unknownVoice(speech.voice, [...abilities.values()]);
  return candidates;
}

function unknownVoice(voice: SpeechRequest['voice'], abilities: readonly RouteAbilities[]): GatewayError {
  const known = [...new Set(abilities.flatMap(({ voices }) => voices ?? []))];
  const shown = typeof voice === 'string' ? voice.slice(0, 64) : '';
  const values = listed(
    known.map((name) => `'${name}'`),
    'and',
    ',',
  );
  return new GatewayError('invalid_value', {
    path: ['voice'],
    message: `Invalid value: '${shown}'. Supported values are: ${values}.`,
  });
}
