import {
  Alert,
  Autocomplete,
  Badge,
  Button,
  Group,
  Paper,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  Title,
} from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import type { Draft, DraftTry } from '../../../api/types.ts';
import { RequestFigures } from '../../playground/exchange/request-figures.tsx';
import { Attempts } from '../../requests/attempts.tsx';
import { KeySelect } from '../../traffic/key-select.tsx';
import classes from './edit.module.css';
import { membersOf, routesOf } from './edit-fields.ts';

interface TryDraftProps {
  readonly of: Draft;
  /** Whether it is the draft as it is written now. */
  readonly isChecked: boolean;
}

/** Sends one request by the draft, and shows what came of it. */
export function TryDraft({ of: { text, entries, changes }, isChecked }: TryDraftProps) {
  const models = textModels(entries?.models ?? {});
  const [keyId, setKeyId] = useState<string>();
  const [model, setModel] = useState(() => firstTried(models, changes));
  const [input, setInput] = useState('Answer with the word OK.');
  const sending = useMutation({
    mutationFn: (chosen: string) =>
      bodyOf(
        api.POST('/admin/v1/configuration/draft/try', {
          body: { text, keyId: chosen, model: model.trim(), input },
        }),
      ),
  });
  return (
    <Stack gap="sm" component="section" aria-label="Try it">
      <Title order={2} size="h5">
        Try it
      </Title>
      <Text size="sm" c="dimmed">
        Sends one text request with this draft, before you apply it. Resting channels are tried, too. The
        request counts against the key that you choose.
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (keyId !== undefined) sending.mutate(keyId);
        }}
      >
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <KeySelect
              label="Key"
              placeholder="Find a key"
              state="active"
              chosenId={keyId}
              onChoose={setKeyId}
              required
            />
            <Autocomplete
              label="Model"
              data={models.filter((name) => !name.includes('*'))}
              value={model}
              onChange={setModel}
              required
            />
          </SimpleGrid>
          <Textarea
            label="Message"
            value={input}
            onChange={(event) => setInput(event.currentTarget.value)}
            autosize
            minRows={1}
            maxRows={8}
            maxLength={10_000}
            required
          />
          <Group justify="flex-end">
            <Button
              type="submit"
              variant="default"
              loading={sending.isPending}
              disabled={keyId === undefined || model.trim() === '' || input.trim() === '' || !isChecked}
            >
              Try the draft
            </Button>
          </Group>
        </Stack>
      </form>
      <div role="status">
        {sending.data && !sending.isPending && <Tried of={sending.data} models={entries?.models ?? {}} />}
      </div>
      {sending.error && (
        <Alert color="red" variant="light" role="alert">
          {sending.error.message}
        </Alert>
      )}
    </Stack>
  );
}

type Models = NonNullable<Draft['entries']>['models'];

const textModels = (models: Models): string[] =>
  Object.keys(models).filter((name) => membersOf(models[name]).kind === 'text');

/** The first text model that the draft changes; else the first that has a name. */
function firstTried(models: readonly string[], changes: Draft['changes']): string {
  const named = models.filter((name) => !name.includes('*'));
  const changed = changes.find(
    ({ section, name }) => section === 'models' && name !== null && named.includes(name),
  );
  return changed?.name ?? named[0] ?? '';
}

function Tried({ of, models }: { of: DraftTry; models: Models }) {
  const { isOk, status, error, detail, attempts, output, isOutputCut, firstOutputMs, totalMs } = of;
  return (
    <Paper withBorder p="sm">
      <Stack gap="xs">
        <Group gap="xs">
          <Badge variant="dot" color={isOk ? 'teal' : 'red'}>
            {isOk ? 'Answered' : 'Failed'}
          </Badge>
          <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
            {isOk ? answeredBy(of, models) : `No answer${status === null ? '' : `: status ${status}`}`}
          </Text>
        </Group>
        {error !== null && <Text size="sm">{error}</Text>}
        {detail !== null && <Text size="sm">Detail: {detail}</Text>}
        {output !== '' && (
          <Text size="sm" className={classes.output} tabIndex={0} aria-label="Answer">
            {output}
            {isOutputCut && ' …'}
          </Text>
        )}
        {attempts.length > 0 && <Attempts of={{ attempts: attempts.length, attemptList: attempts }} />}
        <RequestFigures
          of={{ state: isOk ? 'done' : 'failed', requestId: of.requestId, firstOutputMs, totalMs }}
        />
      </Stack>
    </Paper>
  );
}

/** The channel that answered, and its own name of the model where that is another one. */
function answeredBy({ model, attempts }: DraftTry, models: Models): string {
  const channel = attempts.findLast(({ outcome }) => outcome === 'ok')?.channel;
  if (channel === undefined) return model;
  const route = routesOf(models[model]).find((one) => one.channel === channel);
  return `${model} at ${channel}${typeof route?.model === 'string' ? ` as ${route.model}` : ''}`;
}
