import { Alert, Button, Group, NumberInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, api, bodyOf } from '../../../api/client.ts';
import { gatewayQuery } from '../../../api/queries.ts';
import { CopyField } from '../../../parts/copy-field.tsx';
import { clientSettings } from '../../keys/client-settings.ts';

export interface FirstKey {
  readonly id: string;
  readonly name: string;
  readonly team: string;
}

interface FirstKeyProps {
  /** A model for the command. */
  readonly model: string | undefined;
  /** Null: it is left out. */
  readonly onDone: (key: FirstKey | null) => void;
}

/** A first team with a budget, and a first key of it, shown once with a command to copy. */
export function MakeFirstKey({ model, onDone }: FirstKeyProps) {
  const queries = useQueryClient();
  const [team, setTeam] = useState('');
  const [usd, setUsd] = useState<number | string>('');
  const [name, setName] = useState('');
  const make = useMutation({
    mutationFn: async () => {
      await makeTeam(team.trim(), usd === '' ? null : Number(usd));
      return bodyOf(api.POST('/admin/v1/keys', { body: { name: name.trim(), team: team.trim() } }));
    },
    onSuccess: () => Promise.all([['keys'], ['teams']].map((queryKey) => queries.resetQueries({ queryKey }))),
  });
  if (make.data !== undefined) {
    const { id, key } = make.data;
    return (
      <ShownKey
        secret={key}
        model={model}
        onDone={() => onDone({ id, name: name.trim(), team: team.trim() })}
      />
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate();
      }}
    >
      <Stack gap="sm" maw={560}>
        <Text size="sm">
          Every request needs a key. The keys of a team share its budget, and its usage is counted together.
        </Text>
        <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
          <TextInput
            label="Team"
            placeholder="platform"
            value={team}
            onChange={(event) => setTeam(event.currentTarget.value)}
            pattern="\s*[a-z0-9][a-z0-9._\-]*\s*"
            title="Lower-case letters, digits and . _ -"
            required
            autoComplete="off"
          />
          <NumberInput
            label="Its budget for a month, in USD"
            description="Empty: no limit"
            value={usd}
            onChange={setUsd}
            min={0.01}
            decimalScale={2}
            prefix="$"
          />
          <TextInput
            label="Key"
            description="What uses it, such as a program"
            placeholder="first"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            required
            autoComplete="off"
          />
        </SimpleGrid>
        {make.error && (
          <Alert color="red" variant="light" role="alert">
            {make.error.message}
          </Alert>
        )}
        <Group>
          <Button type="submit" loading={make.isPending}>
            Create team and key
          </Button>
          <Button variant="default" onClick={() => onDone(null)}>
            Skip: there are keys already
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** A team that is there already, as after a key that was refused, gets the key. */
async function makeTeam(name: string, usd: number | null): Promise<void> {
  const budget = usd === null ? {} : { budget: { usd, period: 'month' as const } };
  await api.POST('/admin/v1/teams', { body: { name, ...budget } }).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
  });
}

interface ShownKeyProps {
  readonly secret: string;
  readonly model: string | undefined;
  readonly onDone: () => void;
}

function ShownKey({ secret, model = 'MODEL', onDone }: ShownKeyProps) {
  const { data: gateway } = useQuery(gatewayQuery);
  if (gateway === undefined) return null;
  const publicUrl = gateway.publicUrl.replace(/\/$/, '');
  const [curl] = clientSettings({ publicUrl, key: secret, model });
  return (
    <Stack gap="sm">
      <Text size="sm">The key is shown only once. Store it somewhere safe.</Text>
      <CopyField label="Secret" value={secret} />
      <Text size="sm">In a terminal:</Text>
      <CopyField label="Command" value={curl?.text ?? ''} />
      <Group>
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </Stack>
  );
}
