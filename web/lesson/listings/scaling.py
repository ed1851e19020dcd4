import numpy as np

rng = np.random.default_rng(0)
q = rng.normal(size=(10000, 64))     # 10,000 random queries, d_k = 64
k = rng.normal(size=(10000, 64))
scores = (q * k).sum(axis=1)         # 10,000 dot products
print(round(scores.std(), 2), round((scores / 8).std(), 2))
