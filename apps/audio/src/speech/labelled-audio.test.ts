import { expect, test } from 'vitest';
import { LabelledAudio } from './labelled-audio.ts';
import { audioStream } from './speech-stream.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const WAV = latin1('RIFF\x10\0\0\0WAVEfmt ');
const RAW = latin1('\x05\0\x06\0\x07\0\x08\0\x05\0\x06\0\x07\0');

test.for<[string, Buffer, 'mp3' | 'wav' | 'pcm' | 'opus', string | undefined, string]>([
  ['WAV where MP3 was requested', WAV, 'mp3', 'audio/mpeg', 'audio/wav'],
  ['WAV under no type', WAV, 'mp3', undefined, 'audio/wav'],
  ['MP3 with a tag', latin1('ID3\x04\0\0\0\0\0\0'), 'wav', 'audio/wav', 'audio/mpeg'],
  ['MP3 without one', latin1('\xff\xfb\x90\0\0\0\0\0'), 'wav', 'audio/wav', 'audio/mpeg'],
  ['AAC', latin1('\xff\xf1\x50\x80\0\0\0\0'), 'mp3', 'audio/mpeg', 'audio/aac'],
  ['Ogg with Opus', latin1(`OggS${'\0'.repeat(24)}OpusHead`), 'mp3', undefined, 'audio/opus'],
  ['FLAC', latin1('fLaC\0\0\0\x22'), 'mp3', undefined, 'audio/flac'],
  ['MP4', latin1('\0\0\0\x20ftypM4A \0\0'), 'mp3', undefined, 'audio/mp4'],
  ['WebM', latin1('\x1a\x45\xdf\xa3\0\0\0\0'), 'opus', undefined, 'audio/webm'],
  ['raw samples with their rate', RAW, 'pcm', 'audio/pcm;rate=24000', 'audio/pcm;rate=24000'],
  ['raw samples under a type that they are not', RAW, 'pcm', 'audio/mpeg', 'audio/pcm'],
  ['raw samples that look like a frame', latin1('\xff\xfb\x90\0\0\0\0\0'), 'pcm', undefined, 'audio/pcm'],
  ['what nothing is known of', RAW, 'wav', 'application/octet-stream', 'audio/wav'],
])('%s: the label is what the bytes are', ([, bytes, format, providerType, label]) => {
  for (const size of [1, 5, bytes.length]) {
    const audio = new LabelledAudio(audioStream(), { format, providerType });
    const out: Buffer[] = [];
    const take = (output: ReturnType<LabelledAudio['push']>) => {
      if (Buffer.isBuffer(output)) out.push(output);
    };
    for (let at = 0; at < bytes.length; at += size) take(audio.push(bytes.subarray(at, at + size)));
    take(audio.end());
    expect(audio.contentType).toBe(label);
    expect(Buffer.concat(out)).toEqual(bytes);
  }
});

test('the first bytes wait only for as long as they show nothing', () => {
  const audio = new LabelledAudio(audioStream(), { format: 'mp3', providerType: undefined });
  expect(audio.push(latin1('RIFF'))).toBeNull();
  expect(audio.push(WAV.subarray(4))).toEqual(WAV);
  expect(audio.push(Buffer.of(1))).toEqual(Buffer.of(1));
});
