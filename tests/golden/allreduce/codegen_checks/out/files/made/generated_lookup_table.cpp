// AllReduce lookup: [tp][fusion][hidden][tokens] = strategy
// TP:[2, 4, 8] Fusion:['NONE', 'RESIDUAL_RMS_NORM', 'RESIDUAL_RMS_NORM_QUANT_FP8', 'RESIDUAL_RMS_NORM_QUANT_NVFP4']
inline AllReduceBestStrategyTableType AllReduceBestStrategyTableSM90 = {
    {
        // TP=2
        { // Fusion=NONE
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128 (not measured)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256 (not measured)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512 (not measured)
            {4,4,4,4,4,4,4,4,4,4,4,4,4,4,4}, // hidden_size=1024 (not measured: 2, 8, 32, 512, 2048, 8192, 16384 tokens)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,4,4,4,4,4,4,4}, // hidden_size=4096 (not measured: 2, 8, 32, 512, 2048, 8192, 16384 tokens)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM
            // not measured: filled with TWOSHOT (5)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_FP8
            // not measured: filled with TWOSHOT (5)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_NVFP4
            // not measured: filled with TWOSHOT (5)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        }
    },
    {
        // TP=4
        // not measured: filled with TWOSHOT (5)
        { // Fusion=NONE
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_FP8
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_NVFP4
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        }
    },
    {
        // TP=8
        { // Fusion=NONE
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128 (not measured)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256 (not measured)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512 (not measured)
            {4,4,4,4,4,4,4,4,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured: 2, 8, 32, 512, 2048, 8192, 16384 tokens)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,0,0,0,0,0,0,0,0,0}, // hidden_size=4096 (not measured: 2, 8, 32, 512, 2048, 8192, 16384 tokens)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM
            // not measured: filled with TWOSHOT (5)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_FP8
            // not measured: filled with TWOSHOT (5)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_NVFP4
            // not measured: filled with TWOSHOT (5)
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=128
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=256
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=512
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=1024
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=2048
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5}, // hidden_size=4096
            {5,5,5,5,5,5,5,5,5,5,5,5,5,5,5} // hidden_size=8192
        }
    }
};
