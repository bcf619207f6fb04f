import { Anchor, Autocomplete, Group, NumberInput, Select, Stack, Text, Textarea } from '@mantine/core';
import { IconDownload, IconVolume } from '@tabler/icons-react';
import { EmptyState } from '../../../parts/empty-state.tsx';
import { wholeNumber } from '../../../parts/numbers.ts';
import { useDesk, useDraft } from '../desk.ts';
import { useLive } from '../exchange/live.ts';
import { ModelField, useModelNames } from '../model-fields.tsx';
import type { PanelProps } from '../playground-search.ts';
import { PromptBox } from '../prompt-box.tsx';
import { RunList } from '../run-list.tsx';
import { NO_SPEECH, readSpeech, SPEECH_FORMATS, type SpeechAnswer, speechCall } from './make-speech.ts';

/** Voices of OpenAI's models; other providers have their own, which can be typed. */
const VOICES = [
  'alloy',
  'ash',
  'ballad',
  'cedar',
  'coral',
  'echo',
  'fable',
  'marin',
  'nova',
  'onyx',
  'sage',
  'shimmer',
  'verse',
];

/** A text that is spoken. */
export function SpeechPanel({ keyId, search, change }: PanelProps) {
  const { speech } = useDesk();
  const runs = useLive(speech.live);
  const [first = ''] = useModelNames('speech');
  const model = search.models?.[0] ?? first;
  const text = useDraft('speech');
  const instructions = useDraft('instructions');
  const { voice = 'alloy', speed } = search;
  const format = SPEECH_FORMATS.find((one) => one === search.format) ?? 'mp3';
  const send = (): void => {
    if (keyId === undefined) return;
    const call = speechCall({
      model,
      input: text.text,
      voice,
      instructions: instructions.text.trim(),
      format,
      speed,
    });
    speech.start({ call, keyId, first: NO_SPEECH, read: readSpeech(format) });
  };
  return (
    <Stack gap="md">
      <Group gap="sm" align="flex-end">
        <ModelField kind="speech" model={model} onChange={(name) => change({ models: [name] })} />
        <Autocomplete
          flex="1 1 120px"
          label="Voice"
          data={VOICES}
          filter={({ options }) => options}
          value={voice}
          onChange={(value) => change({ voice: value })}
        />
        <Select
          flex="1 1 100px"
          label="Format"
          allowDeselect={false}
          data={[...SPEECH_FORMATS]}
          value={format}
          onChange={(value) => change({ format: value ?? undefined })}
        />
        <NumberInput
          flex="0 1 110px"
          label="Speed"
          placeholder="1"
          min={0.25}
          max={4}
          step={0.25}
          value={speed ?? ''}
          onChange={(value) => change({ speed: typeof value === 'number' ? value : undefined })}
        />
      </Group>
      <Textarea
        label="Speaking style"
        description="Not supported by every model"
        autosize
        maxRows={4}
        value={instructions.text}
        onChange={(event) => instructions.change(event.currentTarget.value)}
      />
      <PromptBox
        label="Text to speak"
        draft={text}
        keyId={keyId}
        model={model}
        action="Speak"
        onSend={send}
        onStop={speech.stopAll}
      />
      <RunList
        runs={runs}
        waiting="Waiting for speech …"
        whenEmpty={
          <EmptyState icon={IconVolume} title="No speech yet">
            Enter a text, then play or download the result here.
          </EmptyState>
        }
      >
        {(answer) => <SpeechView of={answer} />}
      </RunList>
    </Stack>
  );
}

function SpeechView({ of: { bytes, sound } }: { of: SpeechAnswer }) {
  if (sound === null)
    return bytes === 0 ? null : <Text size="sm">{wholeNumber(bytes)} bytes have come …</Text>;
  return (
    <Stack gap="xs">
      {sound.isPlayable ? (
        // biome-ignore lint/a11y/useMediaCaption: what is spoken is the text that the person wrote
        <audio controls src={sound.url} aria-label="Speech" style={{ width: '100%' }} />
      ) : (
        <Text size="sm">
          Browsers cannot play raw samples (24 kHz, 16 bits, one channel). Download them instead.
        </Text>
      )}
      <Anchor href={sound.url} download={sound.fileName} size="xs">
        <Group gap={4} component="span" wrap="nowrap">
          <IconDownload size={14} aria-hidden /> Download {sound.fileName}, {wholeNumber(bytes)} bytes
        </Group>
      </Anchor>
    </Stack>
  );
}
