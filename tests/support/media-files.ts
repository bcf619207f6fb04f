import { SPEECH_FORMATS } from '@gateway/simulator/audio/encode-speech';
import { encodePng } from '@gateway/simulator/images/drawing/encode-png';
import { pictureOf } from '@gateway/simulator/images/drawing/picture';

/** A PNG; with `alpha` below 255 it has an alpha channel, as a mask needs. */
export const pngFile = (name = 'picture.png', { size = 64, alpha = 255 } = {}): File =>
  new File([new Uint8Array(encodePng(pictureOf(name, size, size, alpha)))], name, { type: 'image/png' });

/** A WAV recording of a tone. */
export const wavFile = (seconds: number, name = 'recording.wav'): File =>
  new File(
    Array.from(SPEECH_FORMATS.wav.encode(seconds), (chunk) => new Uint8Array(chunk)),
    name,
    { type: 'audio/wav' },
  );
