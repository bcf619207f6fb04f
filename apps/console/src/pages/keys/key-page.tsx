import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { Changes } from '../life/changes.tsx';
import { Forecast } from '../life/forecast.tsx';
import { LifePage } from '../life/life-page.tsx';
import { Part } from '../life/part.tsx';
import { KeyPanel } from './key-panel.tsx';
import { KeyStateBadge } from './key-state.tsx';
import { keyBalanceQuery, keyQuery } from './keys-query.ts';
import { SecretDialog, type ShownSecret } from './secret-dialog.tsx';

/** The life of one key. */
export default function KeyPage() {
  const { id = '' } = useParams({ strict: false });
  const key = useQuery(keyQuery(id));
  const balance = useQuery(keyBalanceQuery(id));
  const [secret, setSecret] = useState<ShownSecret>();
  if (key.error) return <PageFailed error={key.error} reset={() => void key.refetch()} />;
  return (
    <LifePage
      of={{ group: 'keyId', value: id }}
      title={key.data?.name ?? 'Key'}
      badge={key.data && <KeyStateBadge of={key.data} />}
      splits={['model', 'channel', 'endpoint', 'outcome']}
      causesBy="channel"
    >
      {key.data && (
        <Part title="Settings and limits">
          <Forecast of={balance.data?.budget} only={{ keyId: id }} />
          <KeyPanel of={key.data} onSecret={setSecret} />
        </Part>
      )}
      <Changes kind="key" subjectId={id} />
      {secret && <SecretDialog shown={secret} onClose={() => setSecret(undefined)} />}
    </LifePage>
  );
}
