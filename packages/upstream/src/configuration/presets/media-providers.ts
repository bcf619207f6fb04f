import type { LibraryName } from '../../libraries/libraries.ts';
import type { Protocol } from '../../protocol.ts';
import { bearer, type Preset } from './preset.ts';

/** Google's images and speech, below the path that both of its APIs have; of transcriptions only the Gemini API. */
export const googleMediaPaths = <Base extends string>(base: Base) =>
  ({ 'images.generations': base, 'images.edits': base, speech: base }) as const;

/** Operations of media, for libraries that know their own paths below the base URL. */
const OWN_PATHS = {
  'images.generations': '',
  'images.edits': '',
  speech: '',
  transcriptions: '',
} as const satisfies Preset['paths'];

/** Providers of media that are called through their own client library. */
const throughLibrary = <Speaks extends Protocol>(library: LibraryName, speaks: readonly Speaks[]) => ({
  library,
  speaks,
  paths: Object.fromEntries(
    Object.entries(OWN_PATHS).filter(([operation]) =>
      speaks.some((protocol) => operation.startsWith(protocol)),
    ),
  ),
  builtInTools: [],
});

export const MEDIA_PROVIDERS = {
  elevenlabs: {
    ...throughLibrary('elevenlabs', ['speech', 'transcriptions']),
    baseUrl: 'https://api.elevenlabs.io',
    key: { header: 'xi-api-key', prefix: '', required: true },
  },
  deepgram: {
    ...throughLibrary('deepgram', ['speech', 'transcriptions']),
    baseUrl: 'https://api.deepgram.com',
    key: { header: 'authorization', prefix: 'Token ', required: true },
  },
  assemblyai: {
    ...throughLibrary('assemblyai', ['transcriptions']),
    baseUrl: 'https://api.assemblyai.com',
    key: { header: 'authorization', prefix: '', required: true },
  },
  // Gemini's own API, for media alone.
  google: {
    ...throughLibrary('google', ['images', 'speech', 'transcriptions']),
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    key: { header: 'x-goog-api-key', prefix: '', required: true },
  },
  'black-forest-labs': {
    ...throughLibrary('black-forest-labs', ['images']),
    baseUrl: 'https://api.bfl.ai/v1',
    key: { header: 'x-key', prefix: '', required: true },
  },
  fal: {
    ...throughLibrary('fal', ['images']),
    baseUrl: 'https://fal.run',
    key: { header: 'authorization', prefix: 'Key ', required: true },
  },
  replicate: {
    ...throughLibrary('replicate', ['images']),
    baseUrl: 'https://api.replicate.com/v1',
    key: { ...bearer, required: true },
  },
} as const satisfies Record<string, Preset>;
