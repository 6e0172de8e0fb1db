'use strict';
/*
 * One process of the soak: uses every token again and again, as a busy function would, until it is told to stop or killed. Its wall clock may be wrong.
 */
const skewMs = Number(process.env.SOAK_CLOCK_SKEW_MS);
const realNow = Date.now;
Date.now = () => realNow() + skewMs;

const { RefreshError, SharedToken } = require('../runtime');

const { SOAK_PROVIDER, SOAK_TOKEN_IDS, SOAK_AUTH_LIMIT_MS } = process.env;
let isOver = false;
const stopped = new Promise(resolve => process.once('message', () => { isOver = true; resolve(); }));
process.on('disconnect', () => process.exit());

function sharedToken(tokenId) {
  let lease;
  const refresh = async ({ refreshToken, signal }) => {
    const response = await fetch(`${SOAK_PROVIDER}/token`, {
      method: 'POST', signal, body: JSON.stringify({ tokenId, refreshToken, lease, pid: process.pid }),
    });
    const answer = await response.json();
    if (!response.ok) throw new RefreshError(answer.error, { retryAfter: response.headers.get('retry-after') });
    return { accessToken: answer.access_token, expiresIn: answer.expires_in, refreshToken: answer.refresh_token };
  };
  const onEvent = ({ type, leaseId }) => { if (type === 'refreshing') lease = leaseId; };
  return new SharedToken(tokenId, { refresh, onEvent, authLimitMs: Number(SOAK_AUTH_LIMIT_MS) });
}

async function useForever(token) {
  const { tokenId } = token;
  while (!isOver) {
    try {
      const response = await token.use(
        accessToken => fetch(`${SOAK_PROVIDER}/api`, { headers: { authorization: `Bearer ${accessToken}`, 'x-token-id': tokenId } }),
        { timeoutMs: 20_000 },
      );
      await response.arrayBuffer();
      process.send({ tokenId, status: response.status, generation: Number(response.headers.get('x-generation')) });
    } catch (error) {
      process.send({ tokenId, code: error.code ?? error.name, message: error.message });
    }
    await new Promise(resolve => setTimeout(resolve, 100 + Math.random() * 200));
  }
}

/** As a schedule would, whatever state the token is in. Its failures harm nobody: that is what the others' calls prove. */
async function forceNowAndThen(tokens) {
  while (!isOver) {
    await Promise.race([stopped, new Promise(resolve => setTimeout(resolve, 2_000 + Math.random() * 30_000))]);
    if (isOver) return;
    const token = tokens[Math.floor(Math.random() * tokens.length)];
    await token.refresh({ timeoutMs: 10_000 }).catch(error => {
      if (error.name !== 'SharedTokenError') process.send({ tokenId: token.tokenId, code: error.name, message: error.message });
    });
  }
}

const tokens = SOAK_TOKEN_IDS.split(',').map(sharedToken);
Promise.all([...tokens.map(useForever), forceNowAndThen(tokens)]).then(() => process.disconnect());
