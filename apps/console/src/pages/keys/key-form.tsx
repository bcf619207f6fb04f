import {
  ActionIcon,
  Button,
  Divider,
  Group,
  MultiSelect,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { ApiError } from '../../api/client.ts';
import { sessionQuery } from '../../api/queries.ts';
import type { Key } from '../../api/types.ts';
import { FormEnd } from '../../parts/form-end.tsx';
import { timeZone } from '../../parts/time-zone.ts';
import { AmountFields, BudgetFields } from '../amount-fields.tsx';
import { amountsOf } from '../amounts.ts';
import { JOB_LIMITS, LIMITS } from '../limits.ts';
import { modelsQuery } from '../models/models-query.ts';
import { teamsQuery } from '../teams/teams-query.ts';
import { type KeyValues, MODEL_LIMITS, valuesOf } from './key-values.ts';

const ENDPOINTS = [
  { value: 'responses', label: 'Responses' },
  { value: 'messages', label: 'Messages' },
  { value: 'chat', label: 'Chat Completions' },
  { value: 'gemini', label: 'Gemini' },
  { value: 'completions', label: 'Completions' },
  { value: 'images', label: 'Images' },
  { value: 'speech', label: 'Speech' },
  { value: 'transcriptions', label: 'Transcriptions' },
  { value: 'embeddings', label: 'Embeddings' },
  { value: 'rerank', label: 'Rerank' },
  { value: 'moderations', label: 'Moderations' },
  { value: 'realtime', label: 'Realtime' },
  { value: 'files', label: 'Files' },
  { value: 'batches', label: 'Batches' },
];

const PRIORITIES = [
  { value: 'low', label: 'Low: refused first when the gateway is busy' },
  { value: 'normal', label: 'Normal' },
  { value: 'high', label: 'High: refused last' },
];

interface KeyFormProps {
  /** The key to change; undefined: a new one. */
  readonly of?: Key | undefined;
  readonly action: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onSubmit: (values: KeyValues) => void;
  readonly onCancel: () => void;
}

/** Everything that can be set of a key, each with what it means. */
export function KeyForm({ of, action, isPending, error, onSubmit, onCancel }: KeyFormProps) {
  const { data: teams = [] } = useQuery(teamsQuery);
  const { data: models = [] } = useQuery(modelsQuery);
  const { data: session } = useSuspenseQuery(sessionQuery);
  /** What a team lead may not set is not asked for. */
  const isLead = session.teams !== null;
  const form = useForm<KeyValues>({
    initialValues: { ...valuesOf(of), ...(of === undefined && isLead && { team: session.teams?.[0] ?? '' }) },
    validate: { name: (value) => (value.trim() === '' ? 'Give the key a name.' : null) },
  });
  const patterns = [...new Set(models.map(({ pattern }) => pattern))];
  const problem = error instanceof ApiError ? error : null;
  /** The message of the API stands beside the field that it is about. */
  const inputProps: typeof form.getInputProps = (path, options) => ({
    ...form.getInputProps(path, options),
    ...(problem?.path === path && { error: problem.message }),
  });

  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack gap="lg">
        <Stack gap="sm">
          <TextInput
            label="Name"
            description="What it is for: a program, a service, a person."
            withAsterisk
            maxLength={200}
            data-autofocus
            {...inputProps('name')}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <Select
              label="Team"
              placeholder="No team"
              description="Its limits and budget also apply."
              data={isLead ? [...(session.teams ?? [])] : teams.map(({ name }) => name)}
              searchable
              clearable={!isLead}
              disabled={isLead && of !== undefined}
              {...inputProps('team')}
              value={form.values.team === '' ? null : form.values.team}
              onChange={(team) => form.setFieldValue('team', team ?? '')}
            />
            <TextInput
              label="Owner"
              description="Who to contact about it."
              maxLength={200}
              {...inputProps('owner')}
            />
          </SimpleGrid>
        </Stack>

        <Section title="What it may use">
          <TagsInput
            label="Models"
            description="Names, or patterns such as gpt-*. The key cannot see other models. Empty: all."
            placeholder={form.values.models.length === 0 ? 'All models' : ''}
            data={patterns}
            clearable
            {...inputProps('models')}
          />
          <MultiSelect
            label="Endpoints"
            description="Empty: all."
            placeholder={form.values.endpoints.length === 0 ? 'All endpoints' : ''}
            data={ENDPOINTS}
            clearable
            {...inputProps('endpoints')}
          />
          <TextInput
            label="Expires"
            description={`In ${timeZone()}. The key is refused from then on. Empty: never.`}
            type="datetime-local"
            {...inputProps('expiresAt')}
          />
        </Section>

        <Section title="Budget">
          <BudgetFields getInputProps={inputProps} />
        </Section>

        <Section title="Limits" about="Requests over a limit get a 429 that says when to retry.">
          <AmountFields fields={LIMITS} path="limits" getInputProps={inputProps} />
          {form.values.modelLimits.map(({ pattern }, at) => (
            <Paper key={at} withBorder p="sm">
              <Stack gap="sm">
                <Group align="flex-end" wrap="nowrap">
                  <TextInput
                    flex={1}
                    label="For these models only"
                    placeholder="gpt-5*"
                    {...inputProps(`modelLimits.${at}.pattern`)}
                  />
                  <ActionIcon
                    variant="default"
                    size="lg"
                    aria-label={`Remove the limits of ${pattern || 'these models'}`}
                    onClick={() => form.removeListItem('modelLimits', at)}
                  >
                    <IconTrash size={16} aria-hidden />
                  </ActionIcon>
                </Group>
                <AmountFields fields={MODEL_LIMITS} path={`modelLimits.${at}`} getInputProps={inputProps} />
              </Stack>
            </Paper>
          ))}
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() =>
              form.insertListItem('modelLimits', {
                pattern: '',
                ...amountsOf(
                  MODEL_LIMITS.map(({ name }) => name),
                  {},
                ),
              })
            }
          >
            Add limits for some models
          </Button>
        </Section>

        {!isLead && (
          <Section title="Jobs and priority" about="How this key shares the gateway with other keys.">
            <Select label="Priority" data={PRIORITIES} allowDeselect={false} {...inputProps('priority')} />
            <AmountFields fields={JOB_LIMITS} path="limits" getInputProps={inputProps} />
          </Section>
        )}

        <Section title="Webhooks">
          <TextInput
            label="Webhook URL"
            description="Where to report that a detached job of this key has ended."
            placeholder="https://hooks.example.com/jobs"
            type="url"
            {...inputProps('webhookUrl')}
          />
        </Section>

        <Section title="Labels">
          <TagsInput
            label="Labels"
            description="For your own use. Type name=value and press Enter."
            placeholder="costCentre=42"
            {...inputProps('labels')}
          />
        </Section>

        <FormEnd action={action} isPending={isPending} error={error} onCancel={onCancel} />
      </Stack>
    </form>
  );
}

function Section({ title, about, children }: { title: string; about?: string; children: React.ReactNode }) {
  return (
    <Stack gap="sm" component="section">
      <Divider label={<Text fw={600}>{title}</Text>} labelPosition="left" />
      {about && (
        <Text size="sm" c="dimmed">
          {about}
        </Text>
      )}
      {children}
    </Stack>
  );
}
