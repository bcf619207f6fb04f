import { Alert, Button, Group, Paper, SegmentedControl, Stack, Text, Textarea } from '@mantine/core';
import { IconMicrophone, IconMicrophoneOff, IconPhone, IconPhoneOff } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { EmptyState } from '../../../parts/empty-state.tsx';
import { wholeNumber } from '../../../parts/numbers.ts';
import { microphoneProblem } from '../audio/use-recorder.ts';
import { useDesk, useDraft } from '../desk.ts';
import { useLive } from '../exchange/live.ts';
import { ModelField, useModelNames } from '../model-fields.tsx';
import type { PanelProps } from '../playground-search.ts';
import { PromptBox } from '../prompt-box.tsx';
import type { VoiceLine } from './voice-session.ts';

const SPOKEN = 'spoken';
const ANSWERS = [
  { value: SPOKEN, label: 'Spoken' },
  { value: 'written', label: 'Written' },
];

/** A conversation with a realtime model, spoken or written. */
export function VoicePanel({ keyId, search, change }: PanelProps) {
  const { voice } = useDesk();
  const { phase, isListening, lines, inputTokens, outputTokens } = useLive(voice.live);
  const [first = ''] = useModelNames('realtime');
  const model = search.models?.[0] ?? first;
  const [answers, setAnswers] = useState(SPOKEN);
  const [problem, setProblem] = useState<string>();
  const instructions = useDraft('voice-instructions');
  const message = useDraft('voice-message');
  const isClosed = phase === 'closed';
  // Who goes to another page hangs up.
  useEffect(() => () => voice.close(), [voice]);
  const listen = (on: boolean): void => {
    setProblem(undefined);
    voice.listen(on).catch((error: unknown) => setProblem(microphoneProblem(error)));
  };
  const start = (): void => {
    if (keyId === undefined || model === '') return;
    const options = { keyId, model, isSpoken: answers === SPOKEN };
    voice.open({ ...options, instructions: instructions.text.trim() });
  };
  return (
    <Stack gap="md">
      <Group gap="sm" align="flex-end">
        <ModelField kind="realtime" model={model} onChange={(name) => change({ models: [name] })} />
        <SegmentedControl
          aria-label="Answers"
          data={ANSWERS}
          value={answers}
          disabled={!isClosed}
          onChange={setAnswers}
        />
        {isClosed ? (
          <Button
            leftSection={<IconPhone size={16} aria-hidden />}
            disabled={keyId === undefined || model === ''}
            onClick={start}
          >
            Start session
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconPhoneOff size={16} aria-hidden />}
            onClick={() => voice.close()}
          >
            End session
          </Button>
        )}
      </Group>
      <Textarea
        label="Instructions"
        autosize
        maxRows={4}
        disabled={!isClosed}
        value={instructions.text}
        onChange={(event) => instructions.change(event.currentTarget.value)}
      />
      {problem !== undefined && (
        <Alert color="red" variant="light" role="alert" p="xs">
          {problem}
        </Alert>
      )}
      {lines.length === 0 ? (
        <EmptyState icon={IconPhone} title={isClosed ? 'No session yet' : 'Say or write something'}>
          {isClosed
            ? 'Start a session, then speak or write. The session and each response count on the key.'
            : 'Turn on the microphone, or write a message.'}
        </EmptyState>
      ) : (
        <Stack gap="xs" role="log" aria-label="Conversation">
          {lines.map((line) => (
            <Line key={line.id} of={line} />
          ))}
          <Text size="xs" c="dimmed">
            {wholeNumber(inputTokens)} input tokens, {wholeNumber(outputTokens)} output tokens so far
          </Text>
        </Stack>
      )}
      {phase === 'open' && (
        <>
          <PromptBox
            label="Message"
            draft={message}
            keyId={keyId}
            model={model}
            action="Send"
            onSend={() => {
              voice.say(message.text.trim());
              message.change('');
            }}
            onStop={() => voice.close()}
          />
          <Group>
            <Button
              variant="default"
              aria-pressed={isListening}
              leftSection={
                isListening ? (
                  <IconMicrophoneOff size={16} aria-hidden />
                ) : (
                  <IconMicrophone size={16} aria-hidden />
                )
              }
              onClick={() => listen(!isListening)}
            >
              {isListening ? 'Turn off microphone' : 'Turn on microphone'}
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}

const NAMES = { you: 'You', model: 'Model', error: 'Error' } as const;

const Line = ({ of: { by, text } }: { of: VoiceLine }) => (
  <Paper withBorder p="xs">
    <Text size="xs" c={by === 'error' ? 'var(--console-worse)' : 'dimmed'}>
      {NAMES[by]}
    </Text>
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {text}
    </Text>
  </Paper>
);
